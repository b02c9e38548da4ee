// This source file is part of the Optimist open source project, under the MIT licence.

import GRDB
import OptimistWire

/// Updates the engine's tables after a migration renamed a table or a column (L1).
///
/// The engine identifies tables by number and columns by bit, so most entries do not change. It rewrites the records
/// that contain column names: clocks and base values, parked rows, rejections and the journal.
struct FormerNames {
    private let db: Database
    private var numbers: [String: Int64]

    init(_ db: Database) throws {
        self.db = db
        let rows = try Row.fetchAll(db, sql: "SELECT name, number FROM optimist_table")
        numbers = Dictionary(rows.map { ($0[0], $0[1]) }, uniquingKeysWith: { $1 })
    }

    /// - Returns: The numbers of the known tables by their current names.
    mutating func follow(_ records: [any SyncedRecord.Type]) throws -> [String: Int64] {
        for record in records {
            let (name, rules) = (record.databaseTableName, record.syncRules)
            guard try db.tableExists(name, in: "main") else { continue }
            try followTable(name, rules.formerNames)
            guard !rules.formerColumns.isEmpty, let number = numbers[name] else { continue }
            for column in try db.columns(in: name, in: "main").map(\.name) where rules.formerColumns[column] != nil {
                try followColumn(column, number, rules)
            }
        }
        return numbers
    }

    // MARK: - Tables

    private mutating func followTable(_ name: String, _ formerNames: [String]) throws {
        if numbers[name] != nil { return }
        // SQLite and the app may spell the table's name in a different case.
        let same = numbers.keys.filter { $0.lowercased() == name.lowercased() }.sorted()
        for former in same + formerNames {
            guard let number = numbers[former] else { continue }
            if try !same.contains(former) && db.tableExists(former, in: "main") { continue }
            numbers[former] = nil
            numbers[name] = number
            try db.execute(sql: "UPDATE optimist_table SET name = ? WHERE number = ?", arguments: [name, number])
            try db.execute(
                sql: """
                    UPDATE optimist_edit SET blocked = ?1 || substr(blocked, length(?2) + 1)
                    WHERE blocked IS NOT NULL AND substr(blocked, 1, length(?2) + 1) = ?2 || ':'
                    """, arguments: [name, former])
            try EngineSchema.dropStateView(of: former, in: db)
            return
        }
    }

    // MARK: - Columns

    /// Follows a rename from the former name that the file has. A column may have been renamed several times since the
    /// file was last opened.
    private func followColumn(_ name: String, _ table: Int64, _ rules: SyncRules) throws {
        guard try !isKnown(name, table) else { return }
        let former = try rules.formerNames(ofColumn: name).first { try isKnown($0, table) }
        if let former { try rename(former, to: name, in: table) }
    }

    private func isKnown(_ column: String, _ table: Int64) throws -> Bool {
        try Bool.fetchOne(
            db, sql: "SELECT EXISTS (SELECT 1 FROM optimist_column WHERE tbl = ? AND name = ? AND bit > 0)",
            arguments: [table, column]) ?? false
    }

    /// The JSON objects whose members are column names.
    private static let objects: [(table: String, column: String, path: String)] = [
        ("optimist_remote", "clocks", "$"), ("optimist_edit", "stamps", "$"), ("optimist_edit", "base", "$"),
        ("optimist_parked", "row", "$"), ("optimist_parked", "row", "$.\"@hlc\""),
        ("optimist_parked", "row", "$.\"@mine\""), ("optimist_parked", "row", "$.\"@unread\""),
        ("optimist_unknown", "row", "$"), ("optimist_unknown", "row", "$.\"@hlc\""),
        ("optimist_rejection", "mine", "$"),
        ("optimist_rejection", "server", "$"), ("optimist_journal", "mine", "$"), ("optimist_journal", "theirs", "$"),
        ("optimist_journal", "whole", "$"),
    ]

    private func rename(_ former: String, to name: String, in table: Int64) throws {
        try forgetRemoved(name, in: table)
        try db.execute(
            sql: "UPDATE optimist_column SET name = ? WHERE tbl = ? AND name = ?", arguments: [name, table, former])
        for (engineTable, column, path) in Self.objects {
            let (old, new) = ("'\(path).\"\(former)\"'", "'\(path).\"\(name)\"'")
            try db.execute(
                sql: """
                    UPDATE \(engineTable)
                    SET \(column) = json_remove(json_set(\(column), \(new), json(\(column) -> \(old))), \(old))
                    WHERE tbl = ? AND json_type(\(column), \(old)) IS NOT NULL
                    """, arguments: [table])
        }
        try RejectionTable(db).rename(former, to: name, ofTable: table)
        let copy = MigrationCapture.copy(of: table)
        if try db.tableExists(copy), try db.columns(in: copy).contains(where: { $0.name == former }) {
            try db.execute(sql: "ALTER TABLE \(copy) RENAME COLUMN \"\(former)\" TO \"\(name)\"")
        }
    }

    /// Forgets a removed column when another column takes its name, because the values stored under the name belong to
    /// the removed one.
    private func forgetRemoved(_ name: String, in table: Int64) throws {
        let bit = try Int64.fetchOne(
            db, sql: "DELETE FROM optimist_column WHERE tbl = ? AND name = ? AND bit <= 0 RETURNING -bit",
            arguments: [table, name])
        guard let bit else { return }
        try db.execute(sql: "DELETE FROM optimist_counter WHERE tbl = ? AND bit = ?", arguments: [table, bit])
        let places = Self.objects.filter { !["optimist_rejection", "optimist_journal"].contains($0.table) }
        for (engineTable, column, path) in places {
            let member = "'\(path).\"\(name)\"'"
            try db.execute(
                sql: """
                    UPDATE \(engineTable) SET \(column) = json_remove(\(column), \(member))
                    WHERE tbl = ? AND json_type(\(column), \(member)) IS NOT NULL
                    """, arguments: [table])
        }
    }
}
