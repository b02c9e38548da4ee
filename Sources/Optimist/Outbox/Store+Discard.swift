// This source file is part of the Optimist open source project, under the MIT licence.

import GRDB
import OptimistWire

extension Store {
    /// Undoes everything that is not on the server yet, in one transaction, and forgets it: what was made goes, what was
    /// edited is as the server has it, and what was deleted is received anew at the next sync.
    ///
    /// What was sent without an answer may have arrived; it then comes back. Rejections stay. For an app that does not
    /// want what was written before somebody signed in, or whose user signs out without it.
    ///
    /// - Returns: How many rows were pending.
    /// - Throws: `DatabaseError`, and nothing is changed, as when the app's own tables refer to a row that would go.
    @discardableResult
    public func discardPending() async throws -> Int {
        try await apply { db in
            try db.execute(sql: "PRAGMA defer_foreign_keys = ON")
            var discard = Discard(entries: try RowEntryTable(db), tables: AppTables(self.layouts, db), db: db)
            let rows = try Row.fetchAll(
                db, sql: "SELECT tbl, id FROM optimist_row WHERE pending IS NOT NULL ORDER BY pending DESC, key DESC")
            for row in rows { try discard.undo(RowRef(table: row[0], id: row[1])) }
            for table in discard.incomplete.sorted() { try Self.startResync(of: table, in: db) }
            // The verdicts of a push that is on its way speak of what is no longer there.
            try Meta.set(.inFlight, to: nil, in: db)
            try GroupJoins(db).forgetSettled()
            return rows.count
        }
    }
}

/// Undoes pending rows within one transaction.
private struct Discard {
    var entries: RowEntryTable
    let tables: AppTables
    let db: Database
    /// The tables of which something is to be received anew.
    var incomplete: Set<String> = []

    mutating func undo(_ ref: RowRef) throws {
        guard let table = tables[ref.table], var entry = try entries.entry(ref) else { return }
        let values = try table.values(ref.id) ?? [:]
        if let undone = entry.takeBack(values, current: nil, in: table.layout) {
            try table.make(undone.change, at: ref.id)
            return try entries.save(entry)
        }
        // A deleted row: only the server has it.
        try db.execute(sql: "DELETE FROM optimist_row WHERE tbl = ? AND id = ?", arguments: [ref.table, ref.id])
        incomplete.insert(table.layout.name)
    }
}
