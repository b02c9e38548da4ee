// This source file is part of the Optimist open source project, under the MIT licence.

import GRDB

/// Follows when a migration of the app has removed columns from a synced table, and when one brings them back (L1).
///
/// A column that is gone keeps its place, so that no other one takes it: its bit is noted as negative.
enum GoneColumns {
    /// Forgets what is unsent of the columns that a table has no more: there are no values to send.
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
                    UPDATE optimist_row SET dirty = dirty & ~?2, sent = sent & ~?2, base = json_remove(base, ?3),
                    stamps = json_remove(stamps, ?3) WHERE +tbl = ?1 AND pending IS NOT NULL AND (dirty | sent) & ?2 <> 0
                    """, arguments: [layout.number, Int64(1) << column.bit, path])
            // What the server has confirmed of a count goes on if the column comes back.
            try db.execute(
                sql: "UPDATE optimist_counter SET total = confirmed WHERE tbl = ? AND bit = ?",
                arguments: [layout.number, column.bit])
            try db.execute(
                sql: "UPDATE optimist_column SET bit = -bit WHERE tbl = ? AND name = ?",
                arguments: [layout.number, column.name])
        }
        try cleanEmpty(layout, db)
    }

    /// Rows with nothing else unsent are clean.
    private static func cleanEmpty(_ layout: TableLayout, _ db: Database) throws {
        var entries = try RowEntryTable(db)
        let empty = try DatabaseValue.fetchAll(
            db,
            sql: "SELECT id FROM optimist_row WHERE +tbl = ? AND pending IS NOT NULL AND dirty = 0 AND NOT healing",
            arguments: [layout.number])
        for id in empty {
            guard var entry = try entries.entry(RowRef(table: layout.number, id: id)) else { continue }
            entry.becomeClean()
            try entries.save(entry)
        }
    }

    /// Gives a column that is there again its former bit. The table is received again, because the server's values of
    /// the column went with it.
    ///
    /// - Returns: Nil if the table has never had the column.
    static func bringBack(_ column: String, of table: String, number: Int64, in db: Database) throws -> Int64? {
        let bit = try Int64.fetchOne(
            db, sql: "UPDATE optimist_column SET bit = -bit WHERE tbl = ? AND name = ? AND bit < 0 RETURNING bit",
            arguments: [number, column])
        guard let bit else { return nil }
        try db.execute(
            sql: "UPDATE optimist_row SET known = known & ~? WHERE tbl = ?", arguments: [Int64(1) << bit, number])
        try Store.startResync(of: table, mayBeForgotten: false, in: db)
        return bit
    }
}
