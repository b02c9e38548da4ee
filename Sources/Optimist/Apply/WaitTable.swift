// This source file is part of the Optimist open source project, under the MIT licence.

import Foundation
import GRDB
import OptimistWire

/// Reads and writes `optimist_wait`: the code of the reason why each row waits.
///
/// Invariant: a reason is valid only while its `due` equals the row's. So anything that releases the row, such as an
/// edit, also ends the reason. The next push results delete it.
struct WaitTable {
    private let db: Database

    init(_ db: Database) { self.db = db }

    /// - Parameter due: The `due` of the row's entry.
    func note(_ reason: DeferralReason, of ref: RowRef, until due: Int64) throws {
        try db.cachedStatement(sql: "INSERT OR REPLACE INTO optimist_wait VALUES (?, ?, ?, ?, ?)")
            .execute(arguments: [ref.table, ref.id, due, reason.code, reason.column])
    }

    /// Ends the wait of all rows that wait for this reason.
    func release(_ reason: DeferralReason) throws {
        try db.cachedStatement(
            sql: """
                UPDATE optimist_edit SET due = NULL, retries = 0 WHERE (tbl, id, due) IN
                (SELECT tbl, id, due FROM optimist_wait WHERE code = ?)
                """
        ).execute(arguments: [reason.code])
        try forgetEnded()
    }

    func forgetEnded() throws {
        try db.cachedStatement(
            sql: """
                DELETE FROM optimist_wait WHERE NOT EXISTS (SELECT 1 FROM optimist_edit e
                WHERE e.tbl = optimist_wait.tbl AND e.id = optimist_wait.id AND e.due = optimist_wait.due)
                """
        ).execute()
    }

    /// Why rows of some tables wait, ordered by the next attempt.
    func summary(of layouts: [TableLayout]) throws -> [DeferredRows] {
        let offset = try Meta.int(.clockOffset, in: db) ?? 0
        let names = Dictionary(uniqueKeysWithValues: layouts.map { ($0.number, $0.name) })
        return try Row.fetchAll(
            db.cachedStatement(
                sql: """
                    SELECT w.tbl, w.code, w.columnName, count(*), min(w.due) AS first FROM optimist_wait w
                    JOIN optimist_edit e ON e.tbl = w.tbl AND e.id = w.id AND e.due = w.due GROUP BY 1, 2, 3 ORDER BY first, 1, 2, 3
                    """)
        ).compactMap { row in
            guard let table = names[row[0]] else { return nil }
            return DeferredRows(
                table: table, reason: DeferralReason(row[1], column: row[2]), count: row[3],
                nextAttempt: Date(milliseconds: row[4], aheadBy: offset))
        }
    }
}
