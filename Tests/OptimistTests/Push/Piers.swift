// This source file is part of the Optimist open source project, under the MIT licence.

import Foundation
import GRDB
import Optimist
import OptimistWire

struct Pier: Codable, Identifiable, SyncedRecord {
    static let databaseTableName = "pier"
    var id = UUID()

    var row: RemotePage.Row { .of(Self.databaseTableName, id, [:]) }
}

struct Berth: Codable, Identifiable, SyncedRecord {
    static let databaseTableName = "berth"
    var id = UUID()
    var pier: UUID?
    var number: Int
    var line: String

    var row: RemotePage.Row {
        .of(
            Self.databaseTableName, id,
            [
                "pier": pier.map { .string($0.uuidString.lowercased()) } ?? .null, "number": .int(Int64(number)),
                "line": .string(line),
            ])
    }

    static func migrate(_ migrator: inout DatabaseMigrator) {
        migrator.registerMigration("berth") { db in
            try db.execute(
                sql: """
                    CREATE TABLE pier(id BLOB PRIMARY KEY NOT NULL);
                    CREATE TABLE berth(
                        id BLOB PRIMARY KEY NOT NULL, pier BLOB REFERENCES pier(id) ON DELETE CASCADE,
                        number INTEGER NOT NULL UNIQUE, line TEXT NOT NULL UNIQUE);
                    """)
        }
    }
}

extension RemotePage.Row {
    static func of(_ table: String, _ id: UUID, _ values: JSONObject) -> RemotePage.Row {
        let clocks = ColumnClocks(
            common: WriteClock(stamp: Stamp(milliseconds: 1_790_000_000_000), device: "OtherPhone"))
        return RemotePage.Row(
            table: table, id: id.uuidString.lowercased(),
            content: .row(RowPatch(generation: 1, clocks: clocks, seq: 1, values: values)))
    }
}
