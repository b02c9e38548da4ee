// This source file is part of the Optimist open source project, under the MIT licence.

import Foundation
import GRDB
import Optimist
import OptimistCore
import OptimistWire
import Testing

@testable import Optimist

private struct Boat: Codable, Identifiable, SyncedRecord {
    static let databaseTableName = "boat"
    var id = UUID()
    var name: String?

    static func migrate(_ migrator: inout DatabaseMigrator) {
        migrator.registerMigration("boat") { db in
            try db.execute(sql: "CREATE TABLE boat(id BLOB PRIMARY KEY NOT NULL, name TEXT UNIQUE)")
        }
    }

    /// Only the boat named Swift may be red.
    static func paint(_ migrator: inout DatabaseMigrator) {
        migrate(&migrator)
        migrator.registerMigration("colour") { db in
            try db.execute(
                sql: "ALTER TABLE boat ADD COLUMN colour TEXT CHECK (colour <> 'red' OR name = 'Swift')")
        }
    }
}

private struct PaintedBoat: Codable, Identifiable, SyncedRecord {
    static let databaseTableName = "boat"
    var id = UUID()
    var name: String?
    var colour: String?
}

extension AppVersionTests {
    private func take(
        _ name: String, of id: UUID, life: Int = 1, colour: JSON? = "red", seq: Int64, on device: Device
    ) async throws {
        let clock = WriteClock(stamp: Stamp(milliseconds: 1_790_000_000_000 + seq), device: "OtherPhone")
        let patch = RowPatch(
            generation: life, clocks: ColumnClocks(common: clock), seq: seq,
            values: JSONObject([("name", .string(name)), colour.map { ("colour", $0) }].compactMap(\.self)))
        try await device.apply(
            RemotePage(
                from: "m.\(seq - 1)", cursor: "m.\(seq)", hasMore: false,
                rows: [RemotePage.Row(table: "boat", id: id.uuidString.lowercased(), content: .row(patch))]))
    }

    private func paintsKept(on device: Device) async throws -> Int? {
        try await device.store.read { try Int.fetchOne($0, sql: "SELECT count(*) FROM optimist_unknown") }
    }

    @Test func `L1 an accepted deletion removes the row's unknown values`() async throws {
        let (device, id) = (try Device([Boat.self], migrate: Boat.migrate), UUID())
        try await take("Heron", of: id, seq: 1, on: device)
        #expect(try await paintsKept(on: device) == 1)
        try await device.execute("DELETE FROM boat")
        #expect(try await paintsKept(on: device) == 1, "the app may be replacing the row")
        let batch = try #require(try await device.next())
        try await device.store.apply([.accepted(seq: 2)], of: batch)
        #expect(try await paintsKept(on: device) == 0)
    }

    @Test func `L1 L4 unknown values of a life that the server has forgotten are removed`() async throws {
        let (device, id) = (try Device([Boat.self], migrate: Boat.migrate), UUID())
        try await take("Heron", of: id, life: 3, seq: 1, on: device)
        #expect(try await paintsKept(on: device) == 1)
        try await take("Swift", of: id, life: 1, colour: nil, seq: 2, on: device)
        #expect(try await device.rows("boat").values.first == ["name": "Swift"])
        #expect(try await paintsKept(on: device) == 0)
    }

    @Test func `L1 L4 unknown values that the server no longer has are removed`() async throws {
        let (device, id) = (try Device([Boat.self], migrate: Boat.migrate), UUID())
        try await take("Swift", of: id, seq: 1, on: device)
        try await take("Swift", of: id, colour: nil, seq: 2, on: device)
        #expect(try await paintsKept(on: device) == 0)
    }

    @Test func `L1 L3 a row in a life after the deletion keeps its unknown values`() async throws {
        let (device, id) = (try Device([Boat.self], migrate: Boat.migrate), UUID())
        try await take("Heron", of: id, life: 3, seq: 1, on: device)
        try await device.store.rewind(["boat"], at: "m.1", to: [("m", 0), ("n", 0)].map(RemoteEpoch.init))
        let end = Tombstone(generation: 2, clock: nil, seq: 2)
        let (store, row) = (
            device.store, RemotePage.Row(table: "boat", id: id.uuidString.lowercased(), content: .deleted(end))
        )
        _ = try await store.apply { try store.receive([row], PageContext(), until: { false }, in: $0) }
        #expect(try await device.rows("boat").count == 1)
        #expect(try await paintsKept(on: device) == 1)
    }

    @Test func `L1 M2 a later life from an answer replaces the unknown values`()
        async throws
    {
        let (device, id) = (try Device([Boat.self], migrate: Boat.migrate), UUID())
        try await take("Heron", of: id, seq: 1, on: device)
        try await device.execute("UPDATE boat SET name = 'Swift'")
        let batch = try #require(try await device.next())
        let clock = WriteClock(stamp: Stamp(milliseconds: 1_790_000_009_000), device: "OtherPhone")
        let won = RowPatch(
            generation: 3, clocks: ColumnClocks(common: clock), values: ["name": "Tern", "colour": "blue"])
        try await device.store.apply([.merged(seq: 3, won)], of: batch)
        let kept = try await device.store.read { try String.fetchOne($0, sql: "SELECT row FROM optimist_unknown") }
        #expect(kept?.contains("blue") == true)
        #expect(kept?.contains("red") == false)
    }

    @Test func `L1 R5 an answer's unknown values yield to a page of the same life`() async throws {
        let (device, id) = (try Device([Boat.self], migrate: Boat.migrate), UUID())
        try await take("Heron", of: id, seq: 1, on: device)
        try await device.execute("UPDATE boat SET name = 'Swift'")
        let batch = try #require(try await device.next())
        try await take("Tern", of: id, life: 3, colour: "blue", seq: 2, on: device)
        let clock = WriteClock(stamp: Stamp(milliseconds: 1_789_000_000_000), device: "OtherPhone")
        let won = RowPatch(
            generation: 3, clocks: ColumnClocks(common: clock), values: ["name": "Tern", "colour": "red"])
        try await device.store.apply([.merged(seq: 1, won)], of: batch)
        let kept = try await device.store.read { try String.fetchOne($0, sql: "SELECT row FROM optimist_unknown") }
        #expect(kept?.contains("blue") == true)
    }

    /// The parked row has only the columns that this app knows.
    @Test func `L1 V2 unknown values stay when an answer's parked row is applied`() async throws {
        let (device, id) = (try Device([Boat.self], migrate: Boat.migrate), UUID())
        try await take("Heron", of: id, seq: 1, on: device)
        try await device.execute("UPDATE boat SET name = 'Stork' WHERE id = ?", [id])
        let batch = try #require(try await device.next())
        try await device.store.write { try Boat(name: "Swift").insert($0) }
        let clock = WriteClock(stamp: Stamp(milliseconds: 1_790_000_100_000), device: "OtherPhone")
        let won = RowPatch(clocks: ColumnClocks(common: clock), values: ["name": "Swift"])
        try await device.store.apply([.merged(seq: 2, won)], of: batch)
        try await device.execute("DELETE FROM boat WHERE id <> ?", [id])
        try await device.apply(RemotePage(from: "m.1", cursor: "m.3", hasMore: false, rows: []))
        #expect(try await device.rows("boat").values.first == ["name": "Swift"])
        #expect(try await paintsKept(on: device) == 1)
    }

    @Test func `L1 R4 a kept value that a migration cannot apply does not replace a waiting version from a later page`()
        async throws
    {
        let (device, id) = (try Device([Boat.self], migrate: Boat.migrate), UUID())
        try await take("Heron", of: id, seq: 1, on: device)
        try await device.store.write { try Boat(name: "Swift").insert($0) }
        try await take("Swift", of: id, seq: 2, on: device)
        #expect(try await device.store.counts().parked == 1)
        try device.open([PaintedBoat.self], migrate: Boat.paint)
        try await device.execute("DELETE FROM boat WHERE id <> ?", [id])
        try await device.apply(RemotePage(from: "m.2", cursor: "m.3", hasMore: false, rows: []))
        #expect(try await device.rows("boat").values.first == ["name": "Swift", "colour": "red"])
        #expect(try await device.store.counts().parked == 0)
    }

    /// The answer has only the columns that this app knows, and does not fit.
    @Test func `L1 V2 a kept value that a migration cannot apply joins the parked answer`()
        async throws
    {
        let (device, id) = (try Device([Boat.self], migrate: Boat.migrate), UUID())
        try await take("Heron", of: id, seq: 1, on: device)
        try await device.execute("UPDATE boat SET name = 'Stork' WHERE id = ?", [id])
        let batch = try #require(try await device.next())
        try await device.store.write { try Boat(name: "Swift").insert($0) }
        let clock = WriteClock(stamp: Stamp(milliseconds: 1_790_000_100_000), device: "OtherPhone")
        let won = RowPatch(clocks: ColumnClocks(common: clock), values: ["name": "Swift"])
        try await device.store.apply([.merged(seq: 2, won)], of: batch)
        #expect(try await device.store.counts().parked == 1)
        try device.open([PaintedBoat.self], migrate: Boat.paint)
        try await device.execute("DELETE FROM boat WHERE id <> ?", [id])
        try await device.apply(RemotePage(from: "m.1", cursor: "m.3", hasMore: false, rows: []))
        #expect(try await device.rows("boat").values.first == ["name": "Swift", "colour": "red"])
        #expect(try await device.store.counts().parked == 0)
    }
}

private struct Harbour: Codable, Identifiable, SyncedRecord {
    static let databaseTableName = "harbour"
    var id = UUID()
    var name: String?
}

private struct Ship: Codable, Identifiable, SyncedRecord {
    static let databaseTableName = "ship"
    var id = UUID()
    var harbour: UUID?

    static func migrate(_ migrator: inout DatabaseMigrator) {
        migrator.registerMigration("ship") { db in
            try db.execute(
                sql: """
                    CREATE TABLE harbour(id BLOB PRIMARY KEY NOT NULL, name TEXT);
                    CREATE TABLE ship(
                        id BLOB PRIMARY KEY NOT NULL, harbour BLOB REFERENCES harbour(id) ON DELETE CASCADE);
                    """)
        }
    }

    static func paint(_ migrator: inout DatabaseMigrator) {
        migrate(&migrator)
        migrator.registerMigration("colour") { db in try db.execute(sql: "ALTER TABLE ship ADD COLUMN colour TEXT") }
    }
}

private struct PaintedShip: Codable, Identifiable, SyncedRecord {
    static let databaseTableName = "ship"
    var id = UUID()
    var harbour: UUID?
    var colour: String?
}

extension AppVersionTests {
    /// The harbour was replaced here. The server refuses the replacement without sending its row, so the ship waits for
    /// the harbour.
    @Test func `L1 R2 a kept value of a row that waits for its parent is applied with the row`() async throws {
        let device = try Device([Harbour.self, Ship.self], migrate: Ship.migrate)
        let (harbour, ship) = (UUID(), UUID())
        let clocks = ColumnClocks(
            common: WriteClock(stamp: Stamp(milliseconds: 1_790_000_000_001), device: "OtherPhone"))
        let owner = RemotePage.Row(
            table: "harbour", id: harbour.uuidString.lowercased(),
            content: .row(RowPatch(generation: 1, clocks: clocks, seq: 1, values: ["name": "Kiel"])))
        let owned = RemotePage.Row(
            table: "ship", id: ship.uuidString.lowercased(),
            content: .row(
                RowPatch(
                    generation: 1, clocks: clocks, seq: 1,
                    values: ["harbour": .string(harbour.uuidString.lowercased()), "colour": "red"])))
        try await device.apply(RemotePage(from: "m.0", cursor: "m.1", hasMore: false, rows: [owner, owned]))
        try await device.store.write { db in
            try db.execute(sql: "PRAGMA defer_foreign_keys = ON")
            try db.execute(sql: "UPDATE ship SET harbour = NULL")
            try db.execute(sql: "INSERT OR REPLACE INTO harbour VALUES (?, 'Mine')", arguments: [harbour])
            try db.execute(sql: "UPDATE ship SET harbour = ?", arguments: [harbour])
        }
        let batch = try #require(try await device.next())
        #expect(batch.sent.map(\.generation) == [3])
        let refusal = RemotePush.Refusal(code: "forbidden", message: "no")
        try await device.store.apply([.rejected(refusal)], of: batch)
        #expect(try await device.rows("ship").isEmpty)
        #expect(try await device.store.counts().parked == 1)
        try device.open([Harbour.self, PaintedShip.self], migrate: Ship.paint)
        #expect(
            try await device.store.apply(
                RemotePage(from: "m.0", cursor: "m.2", hasMore: false, rows: [owner]), to: ["harbour"],
                initialCursor: "m.0"))
        #expect(try await device.rows("ship").values.first?["colour"] == "red")
        #expect(try await device.rows("harbour").values.first == ["name": "Kiel"])
        #expect(try await device.store.counts().parked == 0)
    }
}
