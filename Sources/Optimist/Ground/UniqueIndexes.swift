// This source file is part of the Optimist open source project, under the MIT licence.

import GRDB
import OptimistCore
import OptimistWire

/// A table's unique indexes, except indexes that contain the primary key.
struct UniqueIndexes {
    /// The columns of each index, without indexes on expressions or generated columns.
    private(set) var columns: [[String]] = []
    /// Problems with indexes that the server cannot enforce: it compares the bytes of columns, in all rows.
    private(set) var problems: [String] = []

    init(of table: String, in db: Database) throws {
        let indexes = try Row.fetchAll(
            db.cachedStatement(sql: "SELECT name, partial FROM pragma_index_list(?, 'main') WHERE \"unique\""),
            arguments: [table])
        if indexes.isEmpty { return }
        let stored = try Set(TableLayout.storedColumns(of: table, in: db).map(\.name))
        for index in indexes { try read(index[0], isPartial: index[1], stored, in: db) }
    }

    /// > Source: SQLite, "PRAGMA index_xinfo": expressions do not have names.
    private mutating func read(_ index: String, isPartial: Bool, _ stored: Set<String>, in db: Database) throws {
        let terms = try Row.fetchAll(
            db.cachedStatement(sql: "SELECT name, coll FROM pragma_index_xinfo(?, 'main') WHERE key ORDER BY seqno"),
            arguments: [index])
        let names = terms.compactMap { $0[0] as String? }
        if names.contains("id") { return }
        let isOfColumns = names.count == terms.count
        let isGenerated = !stored.isSuperset(of: names)
        if isOfColumns, !isGenerated { columns.append(names) }
        let collations = Set(terms.map { ($0[1] as String).uppercased() }).subtracting(["BINARY"]).sorted()
        let reasons: [String] =
            (isPartial ? ["has a WHERE clause"] : []) + (isOfColumns ? [] : ["is on an expression"])
            + (isGenerated ? ["is on a generated column"] : [])
            + (collations.isEmpty ? [] : ["has the collation \(collations.joined(separator: ", "))"])
        if reasons.isEmpty { return }
        let on = names.isEmpty ? "" : " on \(names.joined(separator: ", "))"
        problems.append(
            """
            the unique index\(on) \(reasons.joined(separator: " and ")), but the server compares the bytes of columns in \
            all rows, so devices would never agree. Make it a plain unique index, for example on a column with the \
            normalized value, or remove UNIQUE.
            """)
    }
}
