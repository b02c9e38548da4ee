// This source file is part of the Optimist open source project, under the MIT licence.

import Foundation
import GRDB
import OptimistWire

/// Reads and writes `optimist_wait`: why rows wait, each as a code.
///
/// A reason holds as long as the row's `due` is the one that it was noted with. So whatever lets a row go, such as an edit,
/// ends its reason too; the entry is removed with the next booking. Older versions of Optimist leave the table alone.
struct WaitTable {
    private let db: Database

    init(_ db: Database) { self.db = db }

    static let definition = """
        CREATE TABLE optimist_wait(                 -- why a row of optimist_row waits
            tbl INTEGER NOT NULL, id NOT NULL,
            due INTEGER NOT NULL,                   -- the row's: with another one the reason is void
            code TEXT NOT NULL, columnName TEXT, PRIMARY KEY(tbl, id)
        ) WITHOUT ROWID
        """

    /// - Parameter due: As the row's entry has it.
    func note(_ reason: WaitReason, of ref: RowRef, until due: Int64) throws {
        try db.cachedStatement(sql: "INSERT OR REPLACE INTO optimist_wait VALUES (?, ?, ?, ?, ?)")
            .execute(arguments: [ref.table, ref.id, due, reason.code, reason.column])
    }

    /// Removes what is void.
    func forgetEnded() throws {
        try db.cachedStatement(
            sql: """
                DELETE FROM optimist_wait WHERE NOT EXISTS (SELECT 1 FROM optimist_row r
                WHERE r.tbl = optimist_wait.tbl AND r.id = optimist_wait.id AND r.due = optimist_wait.due
                AND r.pending IS NOT NULL)
                """
        ).execute()
    }

    /// What the server says of some tables' rows that wait, the most urgent first.
    func summary(of layouts: [TableLayout]) throws -> [WaitingRows] {
        let offset = try Meta.int(.clockOffset, in: db) ?? 0
        let names = Dictionary(uniqueKeysWithValues: layouts.map { ($0.number, $0.name) })
        return try Row.fetchAll(
            db.cachedStatement(
                sql: """
                    SELECT w.tbl, w.code, w.columnName, count(*), min(w.due) AS first FROM optimist_wait w
                    JOIN optimist_row r ON r.tbl = w.tbl AND r.id = w.id AND r.due = w.due
                    WHERE r.pending IS NOT NULL GROUP BY 1, 2, 3 ORDER BY first, 1, 2, 3
                    """)
        ).compactMap { row in
            guard let table = names[row[0]] else { return nil }
            return WaitingRows(
                table: table, reason: WaitReason(row[1], column: row[2]), count: row[3],
                nextAttempt: Date(milliseconds: row[4], aheadBy: offset))
        }
    }
}

/// What pending rows wait for, each by itself or with its group.
struct PendingWaits {
    private struct Wait {
        var due: Int64
        var reason: WaitReason?
    }

    private let offset: Int64
    private var groups: [Int64: Wait] = [:]
    private var rows: [RowRef: Wait] = [:]

    /// - Parameter db: A database of any format: files from before reasons were kept have no such table.
    init(_ db: Database) throws {
        offset = try Meta.int(.clockOffset, in: db) ?? 0
        let reason =
            try db.tableExists("optimist_wait")
            ? """
            w.code, w.columnName FROM optimist_row r
            LEFT JOIN optimist_wait w ON w.tbl = r.tbl AND w.id = r.id AND w.due = r.due
            """ : "NULL, NULL FROM optimist_row r"
        let found = try Row.fetchAll(
            db,
            sql: """
                SELECT r.tbl, r.id, r.pending, r.due, r.blocked IS NOT NULL, \(reason)
                WHERE r.pending IS NOT NULL AND r.due IS NOT NULL
                """)
        for row in found {
            let isBlocked: Bool = row[4]
            let code: String? = isBlocked ? "blocked" : row[5]
            let wait = Wait(due: row[3], reason: code.map { WaitReason($0, column: isBlocked ? nil : row[6]) })
            rows[RowRef(table: row[0], id: row[1])] = wait
            let group: Int64 = row[2]
            if wait.due > groups[group]?.due ?? .min { groups[group] = wait }
        }
    }

    /// Why a row waits, and when it is sent again. A row goes no sooner than the others of its group.
    func wait(of entry: RowEntry) -> (reason: WaitReason?, until: Date)? {
        let group = entry.pending.flatMap { groups[$0.rawValue] }
        guard let wait = rows[entry.ref] ?? group else { return nil }
        return (wait.reason, Date(milliseconds: max(wait.due, group?.due ?? wait.due), aheadBy: offset))
    }
}

extension Date {
    /// - Parameter offset: How far the clock of the milliseconds is ahead of this device's.
    fileprivate init(milliseconds: Int64, aheadBy offset: Int64) {
        self.init(timeIntervalSince1970: Double(milliseconds - offset) / 1000)
    }
}
