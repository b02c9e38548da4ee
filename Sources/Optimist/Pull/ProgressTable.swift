// This source file is part of the Optimist open source project, under the MIT licence.

import GRDB

/// Reads and writes `optimist_progress` for one scope. A table without a row there has received nothing.
struct ProgressTable {
    private let db: Database
    let scope: Int64
    private let guarantees: RemoteGuarantees

    init(_ db: Database, of scope: Int64 = Scope.personal) throws {
        self.db = db
        self.scope = scope
        guarantees = try Meta.guarantees(in: db)
    }

    /// In the order of the names. Unknown tables are left out.
    func fetchAll(_ tables: [String]) throws -> [TableProgress] { try tables.compactMap(fetch) }

    /// Nil if the file does not have the table.
    func fetch(_ table: String) throws -> TableProgress? {
        let statement = try db.cachedStatement(
            sql: """
                SELECT p.tbl, cursor, snapshot, place, isComplete, received, total, isResync, since, seen
                FROM optimist_table t LEFT JOIN optimist_progress p ON p.scope = ? AND p.tbl = t.number
                WHERE t.name = ?
                """)
        return try Row.fetchOne(statement, arguments: [scope, table]).map { row in
            if row[0] == nil { return TableProgress(table: table, guarantees: guarantees) }
            return TableProgress(
                table: table, cursor: row[1], at: row[2], place: row[3], isComplete: row[4], received: row[5],
                total: row[6], isResync: row[7], since: row[8], seen: row[9], guarantees: guarantees)
        }
    }

    func save(_ progress: TableProgress) throws {
        try db.cachedStatement(
            sql: """
                INSERT OR REPLACE INTO optimist_progress
                (scope, tbl, cursor, snapshot, place, isComplete, received, total, isResync, since, seen)
                SELECT ?, number, ?, ?, ?, ?, ?, ?, ?, ?, ? FROM optimist_table WHERE name = ?
                """
        ).execute(arguments: [
            scope, progress.cursor, progress.at, progress.place, progress.isComplete, progress.received, progress.total,
            progress.isResync, progress.since, progress.seen, progress.table,
        ])
    }

    func hasParked(_ progress: TableProgress) throws -> Bool { try has(progress, in: "optimist_parked") }

    /// Whether rows that a snapshot was expected to contain have not arrived.
    func expectsRows(_ progress: TableProgress) throws -> Bool { try has(progress, in: "optimist_unseen") }

    private func has(_ progress: TableProgress, in table: String) throws -> Bool {
        let sql = """
            SELECT EXISTS (SELECT 1 FROM \(table)
            WHERE scope = ? AND tbl = (SELECT number FROM optimist_table WHERE name = ?))
            """
        return try Bool.fetchOne(db.cachedStatement(sql: sql), arguments: [scope, progress.table]) ?? false
    }

    /// The numbers of the tables that have not been received up to a cursor.
    ///
    /// - Parameter served: The tables that the remote keeps. Other tables never lag. Nil: all.
    func lagging(behind cursor: String, of layouts: [TableLayout], served: Set<String>?) throws -> Set<Int64> {
        let some = layouts.filter { $0.isKept(in: scope) && served?.contains($0.name) ?? true }
        let behind = try Set(fetchAll(some.map(\.name)).filter { $0.isBehind(cursor) }.map(\.table))
        return Set(some.filter { behind.contains($0.name) }.map(\.number))
    }
}
