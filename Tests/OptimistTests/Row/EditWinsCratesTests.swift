// This source file is part of the Optimist open source project, under the MIT licence.

import Foundation
import GRDB
import Optimist
import OptimistCore
import OptimistWire
import Testing

@testable import Optimist

private struct Crate: Codable, Identifiable, SyncedRecord {
    static let databaseTableName = "crate"
    static let syncRules = SyncRules(editWins: true)
    var id = UUID()
    var name: String?
}

private struct Disc: Codable, Identifiable, SyncedRecord {
    static let databaseTableName = "disc"
    static let syncRules = SyncRules(editWins: true)
    var id = UUID()
    var crate: UUID?
    var title: String?
}

@Suite(.timeLimit(.minutes(20)))
struct EditWinsCratesTests {
    private let device: Device
    private let here = Crate(name: "here")
    private let there = Crate(name: "there")
    private let disc: Disc

    init() async throws {
        device = try Device([Crate.self, Disc.self]) { migrator in
            migrator.registerMigration("crates") { db in
                try db.execute(
                    sql: """
                        CREATE TABLE crate(id BLOB PRIMARY KEY NOT NULL, name TEXT);
                        CREATE TABLE disc(id BLOB PRIMARY KEY NOT NULL,
                        crate BLOB REFERENCES crate(id) ON DELETE CASCADE, title TEXT);
                        """)
            }
        }
        disc = Disc(crate: here.id, title: "Atlas")
        try await take(
            [here, there].map { row("crate", $0.id, ["name": "s"]) }
                + [row("disc", disc.id, ["crate": .string(here.id.uuidString.lowercased()), "title": "Atlas"])],
            from: 0, to: 1)
        device.advance(20_000)
    }

    private func row(_ table: String, _ id: UUID, _ values: JSONObject) -> RemotePage.Row {
        RemotePage.Row(
            table: table, id: id.uuidString.lowercased(),
            content: .row(RowPatch(generation: 1, clocks: ColumnClocks(common: clock(0)), seq: 1, values: values)))
    }

    private func clock(_ milliseconds: Int64) -> WriteClock {
        WriteClock(stamp: Stamp(milliseconds: 1_790_000_000_000 + milliseconds), device: "OtherPhone")
    }

    private func gone(_ table: String, _ id: UUID, at milliseconds: Int64) -> RemotePage.Row {
        RemotePage.Row(
            table: table, id: id.uuidString.lowercased(),
            content: .deleted(Tombstone(generation: 2, clock: clock(milliseconds), seq: 2)))
    }

    private func take(_ rows: [RemotePage.Row], from: Int, to seq: Int) async throws {
        try await device.apply(RemotePage(from: "m.\(from)", cursor: "m.\(seq)", hasMore: false, rows: rows))
    }

    private func journal() async throws -> [String] {
        try await device.store.read { try String.fetchAll($0, sql: "SELECT mine FROM optimist_journal") }
    }

    @Test func `M1 M2 M7 a row that a move saved from deletion is deleted with its new parent`() async throws {
        try await device.execute("UPDATE disc SET crate = ?", [there.id])
        try await take([gone("disc", disc.id, at: 10_000), gone("crate", there.id, at: 30_000)], from: 1, to: 2)
        #expect(try await device.rows("disc").isEmpty)
        #expect(try await device.rows("crate").count == 1)
        #expect(try await device.store.pendingCount() == 0)
        #expect(try await journal().contains { $0.contains(there.id.uuidString.lowercased()) }, "the move is kept")
    }

    @Test func `R2 M7 if a row outlives one deletion but not the next, a new row below it is journaled`()
        async throws
    {
        try await device.execute("UPDATE crate SET name = 'mine' WHERE id = ?", [here.id])
        try await take([gone("disc", disc.id, at: 10_000), gone("crate", here.id, at: 10_000)], from: 1, to: 2)
        let new = Disc(crate: here.id, title: "Novel")
        try await device.store.write { try new.insert($0) }
        let batch = try #require(try await device.next())
        #expect(batch.push.rows.map(\.table).sorted() == ["crate", "disc"])
        let end = Tombstone(generation: 2, clock: clock(30_000))
        try await device.store.apply(batch.push.rows.map { _ in .gone(seq: 3, end) }, of: batch)
        try await take([], from: 2, to: 3)
        #expect(try await device.rows("disc").isEmpty)
        #expect(try await device.rows("crate").count == 1)
        #expect(try await journal().contains { $0.contains("Novel") })
        #expect(try await journal().contains { $0.contains("mine") })
        #expect(try await device.store.counts().parked == 0)
    }
}
