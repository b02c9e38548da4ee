// This source file is part of the Optimist open source project, under the MIT licence.

import Foundation
import GRDB
import OptimistCore
import OptimistWire
import Testing

@testable import Optimist

/// A table with more columns over its life than the engine has bits.
struct ColumnBitsTests {
    private struct Wide: Codable, Identifiable, SyncedRecord {
        static let databaseTableName = "wide"
        static let syncRules = SyncRules(counters: ["c0"])
        var id = UUID()
    }

    private struct Later: Codable, Identifiable, SyncedRecord {
        static let databaseTableName = "wide"
        var id = UUID()
    }

    private static func columns(_ letter: String) -> [String] {
        (0..<40).map { "\(letter)\($0) \($0 == 0 ? "INTEGER" : "TEXT")" }
    }

    private static func first(_ migrator: inout DatabaseMigrator) {
        migrator.registerMigration("c") { db in
            try db.execute(
                sql: "CREATE TABLE wide(id BLOB PRIMARY KEY NOT NULL, \(columns("c").joined(separator: ", ")))")
        }
    }

    private static func changing(_ letters: String) -> (inout DatabaseMigrator) -> Void {
        { migrator in
            first(&migrator)
            for (former, next) in zip("c" + letters, letters) {
                migrator.registerMigration("\(former)\(next)") { db in
                    for column in columns("\(next)") { try db.execute(sql: "ALTER TABLE wide ADD COLUMN \(column)") }
                    for number in 0..<40 { try db.execute(sql: "ALTER TABLE wide DROP COLUMN \(former)\(number)") }
                }
            }
        }
    }

    private func push(_ device: Device) async throws -> JSONObject {
        let batch = try #require(try await device.next())
        try await device.store.apply([.accepted(seq: batch.push.number)], of: batch)
        switch batch.push.rows.first?.change {
        case .create(let patch), .update(let patch), .move(_, let patch, _): return patch.values
        default: return [:]
        }
    }

    @Test func `L1 a table can have any number of columns over its life`() async throws {
        let device = try Device([Wide.self], migrate: Self.first)
        try await device.execute("INSERT INTO wide(id, c0, c39) VALUES (?, 7, 'c')", [UUID()])
        #expect(try await push(device)["c39"] == "c")
        for letters in ["d", "de", "def", "defg"] {
            let last = String(letters.suffix(1))
            try device.open([Later.self], migrate: Self.changing(letters))
            device.store.countUnderOwnID()
            let layout = device.store.layouts[0]
            #expect(Set(layout.columns.map(\.bit)).count == 40 && layout.columns.allSatisfy { 1...62 ~= $0.bit })
            let id = try #require(try await device.rows("wide").keys.first.flatMap(UUID.init))
            let entry = try await device.store.read { db in
                try RowEntryTable(db).entry(RowRef(table: layout.number, id: id.databaseValue))
            }
            #expect(entry.map { $0.remote.presence.columns & layout.fullMask & ~TableLayout.lifeMask } == 0)
            try await device.execute("UPDATE wide SET \(last)0 = 1, \(last)39 = '\(last)'")
            #expect(try await push(device) == ["\(last)0": 1, "\(last)39": .string(last)])
        }
        // The bits of the first columns were reassigned long ago. The server still has their values.
        try device.open([Later.self], migrate: Self.changing("defgc"))
        #expect(try await device.store.tableProgress().first?.isComplete == false)
        #expect(try await device.store.tableProgress().first?.cursor == nil)
    }

    @Test func `L1 a table with too many columns at once is refused by name`() throws {
        let error = #expect(throws: OptimistError.self) {
            try Device([Wide.self]) { migrator in
                Self.first(&migrator)
                migrator.registerMigration("more") { db in
                    for column in Self.columns("d") { try db.execute(sql: "ALTER TABLE wide ADD COLUMN \(column)") }
                }
            }
        }
        #expect(error?.message == "wide: a synced table can have at most 62 columns in addition to id.")
    }
}
