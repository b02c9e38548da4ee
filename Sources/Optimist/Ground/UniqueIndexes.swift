// This source file is part of the Optimist open source project, under the MIT licence.

import GRDB
import OptimistCore
@_spi(Internals) import OptimistWire

/// A table's unique indexes, except indexes that contain the primary key.
struct UniqueIndexes {
    /// The columns of each index, without indexes on expressions or generated columns.
    private(set) var columns: [[String]] = []
    /// Problems with indexes that the server cannot enforce: it compares the bytes of columns, in all rows.
    private(set) var problems: [String] = []
    private let space: SpaceRule?
    /// The columns of each index on exactly the rows that are in no space.
    private var personal: Set<Set<String>> = []

    /// - Parameter space: The table's rule for spaces.
    init(of table: String, _ space: SpaceRule?, in db: Database) throws {
        self.space = space
        let indexes = try Row.fetchAll(
            db.cachedStatement(sql: "SELECT name, partial FROM pragma_index_list(?, 'main') WHERE \"unique\""),
            arguments: [table])
        if indexes.isEmpty { return }
        let stored = try Set(TableLayout.storedColumns(of: table, in: db).map(\.name))
        for index in indexes { try read(index[0], isPartial: index[1], stored, in: db) }
    }

    /// The columns of each index as the server has it: the server compares only rows of one space, so a root's column
    /// for the space is left out.
    var onServer: [[String]] {
        guard case .own(let column) = space else { return columns }
        return columns.map { $0.filter { $0 != column } }
    }

    /// Whether another index makes the rows without a space unique too: SQLite does not compare these rows in an index
    /// with the space.
    func isUniqueInPersonal(_ columns: [String]) -> Bool {
        guard case .own(let column) = space else { return true }
        return personal.contains(Set(columns).subtracting([column]))
    }

    /// Whether an index is on exactly the rows that are in no space.
    private func isOnPersonalRows(_ index: String, in db: Database) throws -> Bool {
        guard case .own(let column) = space,
            let sql = try String.fetchOne(
                db.cachedStatement(sql: "SELECT sql FROM sqlite_master WHERE type = 'index' AND name = ?"),
                arguments: [index])
        else { return false }
        let words = sql.lowercased().split { " \n\t\"`[]()".contains($0) }
        return words.suffix(4) == ["where", column.lowercased()[...], "is", "null"]
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
        let isPersonal = try isPartial && isOnPersonalRows(index, in: db)
        if isOfColumns, !isGenerated {
            if isPersonal { personal.insert(Set(names)) } else { columns.append(names) }
        }
        let collations = Set(terms.map { ($0[1] as String).uppercased() }).subtracting(["BINARY"]).sorted()
        let reasons: [String] =
            (isPartial && !isPersonal ? ["has a WHERE clause"] : []) + (isOfColumns ? [] : ["is on an expression"])
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
