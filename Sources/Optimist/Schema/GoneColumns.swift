// This source file is part of the Optimist open source project, under the MIT licence.

import GRDB
import OptimistCore

/// Updates the engine's tables after a migration removed columns from a synced table (L1).
///
/// If a column was renamed and the app does not declare this, the column's unsent edits would be lost, so the engine
/// refuses the table.
struct GoneColumns {
    let table: String
    let number: Int64
    let rules: SyncRules
    let db: Database

    /// Drops the unsent edits of missing columns that the app declares as removed.
    ///
    /// - Throws: `OptimistError` with code `invalidTable` if a row has an unsent edit in a missing column that the app
    ///   does not declare as removed. The copy of ``MigrationCapture`` still has the values.
    func settle(_ bits: inout ColumnBits) throws {
        let gone = bits.gone
        if gone.isEmpty { return }
        for (name, bit) in gone {
            try requireNoEdits(of: name, bit)
            try forget(name, bit)
            try bits.remove(name)
        }
        try cleanEmpty()
    }

    private func requireNoEdits(of column: String, _ bit: Int64) throws {
        if rules.removedColumns.contains(column) { return }
        let count = try Int.fetchOne(
            db, sql: "SELECT count(*) FROM optimist_edit WHERE tbl = ? AND generation & 1 AND dirty & ? <> 0",
            arguments: [number, Int64(1) << bit])
        guard let count, count > 0 else { return }
        throw OptimistError(
            .invalidTable,
            """
            \(table).\(column): the column is missing, and \(count == 1 ? "a row has" : "\(count) rows have") unsent edits \
            in it. No edit was lost. If a migration renamed the column, add it to SyncRules.formerColumns: \
            ["its new name": "\(column)"]. If a migration removed it, add it to SyncRules.removedColumns.
            """)
    }

    private func forget(_ column: String, _ bit: Int64) throws {
        try db.execute(
            sql: """
                UPDATE optimist_edit SET dirty = dirty & ~?2, sent = sent & ~?2, unread = unread & ~?2,
                base = json_remove(base, ?3), stamps = json_remove(stamps, ?3)
                WHERE tbl = ?1 AND (dirty | sent | unread) & ?2 <> 0
                """, arguments: [number, Int64(1) << bit, "$.\"\(column)\""])
        // If the column is added again, counting continues from the confirmed total.
        try db.execute(
            sql: "UPDATE optimist_counter SET total = confirmed WHERE tbl = ? AND bit = ?", arguments: [number, bit])
    }

    /// Clears the edits of rows without other unsent columns. If the server has deleted such a row, the device receives
    /// the table again, which removes the row.
    private func cleanEmpty() throws {
        var entries = try RowEntryTable(db)
        let empty = try DatabaseValue.fetchAll(
            db, sql: "SELECT id FROM optimist_edit WHERE tbl = ? AND dirty = 0", arguments: [number])
        for id in empty {
            guard var entry = try entries.entry(RowRef(table: number, id: id)) else { continue }
            if entry.isOver {
                entry.remote.goBack(to: entry.generation)
                try Store.receiveAnew(table, in: db)
            }
            entry.becomeClean()
            try entries.save(entry)
        }
    }
}
