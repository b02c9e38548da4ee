// This source file is part of the Optimist open source project, under the MIT licence.

import GRDB
import OptimistCore

/// The bits of a synced table's columns in the engine's masks.
///
/// A column keeps its bit. A removed column keeps its bit as a negative number, in case it is added again. When
/// all bits are used, a new column takes the bit of a removed one, which then has bit 0.
struct ColumnBits {
    let table: String
    let number: Int64
    let columns: Set<String>
    let db: Database
    private var known: [String: Int64]

    init(table: String, number: Int64, columns: Set<String>, db: Database) throws {
        (self.table, self.number, self.columns, self.db) = (table, number, columns, db)
        let rows = try Row.fetchAll(
            db.cachedStatement(sql: "SELECT name, bit FROM optimist_column WHERE tbl = ?"), arguments: [number])
        known = Dictionary(rows.map { ($0[0], $0[1]) }, uniquingKeysWith: { $1 })
    }

    /// Columns that have a bit, but that the table no longer has.
    var gone: [(name: String, bit: Int64)] {
        known.filter { $0.value > 0 && !columns.contains($0.key) }.map { ($0.key, $0.value) }.sorted { $0.bit < $1.bit }
    }

    mutating func remove(_ column: String) throws {
        try db.execute(
            sql: "UPDATE optimist_column SET bit = -bit WHERE tbl = ? AND name = ?", arguments: [number, column])
        known[column] = known[column].map { -$0 }
    }

    /// Returns the bit of a current column. A new column gets one.
    ///
    /// - Throws: `OptimistError` with code `invalidTable` if the table has too many columns.
    func bit(of column: String) throws -> Int64 {
        let former = known[column]
        if let former, former > 0 { return former }
        let bit = if let former, former < 0 { -former } else { try free() }
        try db.execute(
            sql: """
                INSERT INTO optimist_column(tbl, name, bit) VALUES (?, ?, ?)
                ON CONFLICT(tbl, name) DO UPDATE SET bit = excluded.bit
                """, arguments: [number, column, bit])
        // The server does not have values for the column. Non-negative masks usually omit the bit already.
        try db.execute(
            sql: "UPDATE optimist_remote SET known = known & ~?1 WHERE tbl = ?2 AND known & ?1 <> 0",
            arguments: [Int64(1) << bit, number])
        // The server's values were dropped with the column, so the device receives the table again.
        if former != nil { try Store.receiveAnew(table, in: db) }
        return bit
    }

    /// Returns a free bit. If there is none, a removed column loses its bit. No edit has that bit: see ``GoneColumns``.
    /// Rejections and the journal refer to columns by name.
    private func free() throws -> Int64 {
        let rows = try Row.fetchAll(
            db, sql: "SELECT name, abs(bit) FROM optimist_column WHERE tbl = ? ORDER BY abs(bit)", arguments: [number])
        let given = rows.map { (name: $0[0] as String, bit: $0[1] as Int64) }
        let last = given.last?.bit ?? 0
        if last < TableLayout.maxColumns { return last + 1 }
        guard let gone = given.first(where: { $0.bit > 0 && !columns.contains($0.name) }) else {
            throw OptimistError(
                .invalidTable,
                "\(table): a synced table can have at most \(TableLayout.maxColumns) columns in addition to id.")
        }
        try db.execute(
            sql: "UPDATE optimist_column SET bit = 0 WHERE tbl = ? AND name = ?", arguments: [number, gone.name])
        try db.execute(
            sql: "DELETE FROM optimist_counter WHERE tbl = ? AND bit = ?", arguments: [number, gone.bit])
        return gone.bit
    }
}
