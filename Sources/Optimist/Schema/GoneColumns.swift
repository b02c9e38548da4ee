// This source file is part of the Optimist open source project, under the MIT licence.

import GRDB

/// Updates the engine's tables after a migration of the app has removed columns from a synced table, or has brought
/// them back (L1).
///
/// A removed column keeps its bit, so that no other column takes it. The engine stores the bit as a negative number.
enum GoneColumns {
    /// Forgets the unsent edits of columns that the table no longer has, because there are no values to send.
    static func settle(in layout: TableLayout, _ db: Database) throws {
        let known = try Row.fetchAll(
            db.cachedStatement(sql: "SELECT name, bit FROM optimist_column WHERE tbl = ? AND bit > 0"),
            arguments: [layout.number])
        let gone = known.map { (name: $0[0] as String, bit: $0[1] as Int64) }
            .filter { layout[column: $0.name] == nil }
        if gone.isEmpty { return }
        for column in gone {
            let path = "$.\"\(column.name)\""
            try db.execute(
                sql: """
                    UPDATE optimist_edit SET dirty = dirty & ~?2, sent = sent & ~?2, base = json_remove(base, ?3),
                    stamps = json_remove(stamps, ?3) WHERE tbl = ?1 AND (dirty | sent) & ?2 <> 0
                    """, arguments: [layout.number, Int64(1) << column.bit, path])
            // If the column comes back, counting continues from what the server has confirmed.
            try db.execute(
                sql: "UPDATE optimist_counter SET total = confirmed WHERE tbl = ? AND bit = ?",
                arguments: [layout.number, column.bit])
            try db.execute(
                sql: "UPDATE optimist_column SET bit = -bit WHERE tbl = ? AND name = ?",
                arguments: [layout.number, column.name])
        }
        try cleanEmpty(layout, db)
    }

    /// Makes rows clean that have no other unsent column. If only such an edit kept a row that the server has deleted,
    /// the device receives the table again, and the row goes.
    private static func cleanEmpty(_ layout: TableLayout, _ db: Database) throws {
        var entries = try RowEntryTable(db)
        let empty = try DatabaseValue.fetchAll(
            db,
            sql: "SELECT id FROM optimist_edit WHERE tbl = ? AND dirty = 0",
            arguments: [layout.number])
        for id in empty {
            guard var entry = try entries.entry(RowRef(table: layout.number, id: id)) else { continue }
            if entry.isOver {
                entry.remote.generation = entry.generation
                try Store.startResync(of: layout.name, mayBeForgotten: false, in: db)
            }
            entry.becomeClean()
            try entries.save(entry)
        }
    }

    /// Gives a column that came back its former bit. The device receives the table again, because the server's values
    /// went away with the column.
    ///
    /// - Returns: The bit. Nil if the table has never had the column.
    static func bringBack(_ column: String, of table: String, number: Int64, in db: Database) throws -> Int64? {
        let bit = try Int64.fetchOne(
            db, sql: "UPDATE optimist_column SET bit = -bit WHERE tbl = ? AND name = ? AND bit < 0 RETURNING bit",
            arguments: [number, column])
        guard let bit else { return nil }
        try db.execute(
            sql: "UPDATE optimist_remote SET known = known & ~? WHERE tbl = ?", arguments: [Int64(1) << bit, number])
        try Store.startResync(of: table, mayBeForgotten: false, in: db)
        return bit
    }
}
