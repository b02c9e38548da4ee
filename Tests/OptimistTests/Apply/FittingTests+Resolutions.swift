// This source file is part of the Optimist open source project, under the MIT licence.

import Foundation
import GRDB
import Optimist
import OptimistCore
import OptimistWire
import Testing

@testable import Optimist

private struct Label: Codable, Identifiable, SyncedRecord {
    static let databaseTableName = "label"
    var id = UUID()
    var name: String
}

private struct Seat: Codable, Identifiable, SyncedRecord {
    static let databaseTableName = "seat"
    var id = UUID()
    var name: String?
    var code: String?
    var label: UUID?
}

extension FittingTests {
    @Test(arguments: ["REPLACE", "IGNORE", "ROLLBACK"])
    func `M6 a received row never replaces a local one, whatever the table's conflict clause`(
        resolution: String
    ) async throws {
        let device = try Device([Label.self]) { migrator in
            migrator.registerMigration("label") { db in
                try db.execute(
                    sql: """
                        CREATE TABLE label(
                        id BLOB PRIMARY KEY NOT NULL, name TEXT NOT NULL UNIQUE ON CONFLICT \(resolution))
                        """)
            }
        }
        let store = device.store
        let mine = Label(name: "x")
        try await store.write { try mine.insert($0) }
        let theirs = RemotePage.Row(
            table: "label", id: UUID().uuidString.lowercased(),
            content: .row(
                RowPatch(
                    generation: 1,
                    clocks: ColumnClocks(
                        common: WriteClock(stamp: Stamp(milliseconds: 1_790_000_000_000), device: "OtherPhone")),
                    seq: 1, values: ["name": "x"])))
        try await store.take([theirs], to: 1, of: ["label"])
        #expect(try await store.read { try Label.fetchAll($0).map(\.id) } == [mine.id])
        let counts = try await store.counts()
        #expect(counts.pending == 1)
        #expect(counts.parked == 1)
    }

    /// Labels, and seats with unique names, codes and labels. The table resolves collisions of the app's writes.
    private func seats(_ resolution: String) throws -> Device {
        try Device([Label.self, Seat.self]) { migrator in
            migrator.registerMigration("seat") { db in
                try db.execute(
                    sql: """
                        CREATE TABLE label(id BLOB PRIMARY KEY NOT NULL, name TEXT NOT NULL);
                        CREATE TABLE seat(
                        id BLOB PRIMARY KEY NOT NULL, name TEXT UNIQUE ON CONFLICT \(resolution),
                        code TEXT UNIQUE ON CONFLICT \(resolution),
                        label BLOB UNIQUE ON CONFLICT \(resolution) REFERENCES label(id))
                        """)
            }
        }
    }

    private func row(_ table: String, _ id: UUID, seq: Int64, _ values: JSONObject) -> RemotePage.Row {
        let clock = WriteClock(stamp: Stamp(milliseconds: 1_790_000_000_000 + seq), device: "OtherPhone")
        return RemotePage.Row(
            table: table, id: id.uuidString.lowercased(),
            content: .row(
                RowPatch(generation: 1, clocks: ColumnClocks(common: clock), seq: seq, values: values)))
    }

    private func take(_ rows: [RemotePage.Row], from: Int, to seq: Int, in store: Store) async throws {
        try await store.take(rows, from: from, to: seq, of: ["label", "seat"])
    }

    @Test(arguments: ["REPLACE", "IGNORE", "ROLLBACK"])
    func `M6 R4 a value given back never replaces another row's value, whatever the table's conflict clause`(
        resolution: String
    ) async throws {
        let store = try seats(resolution).store
        let (a, b) = (UUID(), UUID())
        try await take(
            [
                row("seat", a, seq: 1, ["name": "a", "code": "1"]),
                row("seat", b, seq: 1, ["name": "b", "code": "2"]),
            ], from: 0, to: 1, in: store)
        try await store.write { try $0.execute(sql: "UPDATE seat SET name = 'm' WHERE id = ?", arguments: [a]) }
        try await take(
            [
                row("seat", a, seq: 2, ["name": "a", "code": "2"]),
                row("seat", b, seq: 2, ["name": "m", "code": "1"]),
            ], from: 1, to: 2, in: store)
        #expect(try await store.read { try Seat.fetchOne($0, key: a)?.name } == "m")
        #expect(try await store.read { try Seat.fetchOne($0, key: b)?.name } == "b")
        let counts = try await store.counts()
        #expect((counts.pending, counts.parked) == (1, 2))
    }

    @Test(arguments: ["REPLACE", "IGNORE", "ROLLBACK"])
    func `M6 R4 a redirected reference never replaces another row's reference, whatever the table's conflict clause`(
        resolution: String
    ) async throws {
        let store = try seats(resolution).store
        let (winner, loser) = (UUID(), UUID())
        let (first, second) = (Seat(label: winner), Seat(label: loser))
        func labelled(_ seat: Seat) -> RemotePage.Row {
            row("seat", seat.id, seq: 1, ["label": .string(seat.label?.uuidString.lowercased() ?? "")])
        }
        try await take(
            [
                row("label", winner, seq: 1, ["name": "x"]), row("label", loser, seq: 1, ["name": "y"]),
                labelled(first), labelled(second),
            ], from: 0, to: 1, in: store)
        let tombstone = Tombstone(
            generation: 2, clock: WriteClock(stamp: Stamp(milliseconds: 1_790_000_001_000), device: "server"), seq: 2,
            mergedInto: winner.uuidString.lowercased())
        try await take(
            [RemotePage.Row(table: "label", id: loser.uuidString.lowercased(), content: .deleted(tombstone))],
            from: 1, to: 2, in: store)
        let labels = try await store.read { try Seat.fetchAll($0).map { [$0.id, $0.label] } }
        #expect(Set(labels) == [[first.id, winner], [second.id, loser]])
        #expect(try await store.counts().parked == 1)
    }

    @Test func `R4 S8 a merged row waits if the app's trigger fails on a row that refers to it`()
        async throws
    {
        let store = desk.store
        try await store.take([.project(trip), .project(tour), .step(tickets, in: trip)], to: 1)
        try await store.write {
            try $0.execute(
                sql: """
                    CREATE TRIGGER app AFTER UPDATE OF project ON step
                    BEGIN SELECT json_extract(NEW.text, '$.day'); END
                    """)
        }
        let tombstone = Tombstone(
            generation: 2, clock: WriteClock(stamp: Stamp(milliseconds: 1_790_000_001_000), device: "server"), seq: 2,
            mergedInto: tour.wireID)
        try await store.take(
            [RemotePage.Row(table: "project", id: trip.wireID, content: .deleted(tombstone)), .step(visa, seq: 2)],
            from: 1, to: 2)
        #expect(try await store.steps() == ["Tickets", "Visa"])
        #expect(try await store.counts().parked == 1)
    }
}
