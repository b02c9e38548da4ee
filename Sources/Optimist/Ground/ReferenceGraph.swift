// This source file is part of the Optimist open source project, under the MIT licence.

import GRDB

/// A single-column foreign key of the app to a table's `id`.
struct Reference: Sendable, Equatable {
    /// The effect of deleting the referenced row.
    enum Action: String, Sendable { case cascade, setNull, restrict }

    let table: String
    let onDelete: Action
}

/// A table's foreign keys: columns that refer to an `id`, and keys that the engine cannot follow.
struct References {
    /// A foreign key with several columns, to columns other than `id`, or from the row's own `id`.
    struct Other {
        let columns: [String]
        let table: String
    }

    private(set) var columns: [String: Reference] = [:]
    private(set) var others: [Other] = []

    /// - Parameter known: Table names. A foreign key may spell them in a different case.
    init(of table: String, among known: [String], in db: Database) throws {
        let rows = try Row.fetchAll(
            db.cachedStatement(
                sql: """
                    SELECT "table", "from", coalesce("to", 'id'), on_delete, id FROM pragma_foreign_key_list(?, 'main')
                    ORDER BY id, seq
                    """), arguments: [table])
        for key in Dictionary(grouping: rows, by: { $0[4] as Int64 }).sorted(by: { $0.key < $1.key }).map(\.value) {
            let said: String = key[0][0]
            let parent = known.first { $0.lowercased() == said.lowercased() } ?? said
            let columns = key.map { $0[1] as String }
            if columns.count == 1, columns != ["id"], (key[0][2] as String).lowercased() == "id" {
                self.columns[columns[0]] = Reference(table: parent, onDelete: Self.action(key[0][3]))
            } else {
                others.append(Other(columns: columns, table: parent))
            }
        }
    }

    private static func action(_ word: String) -> Reference.Action {
        switch word {
        case "CASCADE": .cascade
        case "SET NULL", "SET DEFAULT": .setNull
        default: .restrict
        }
    }
}

/// The references between synced tables.
struct ReferenceGraph: Sendable {
    struct Referrer: Sendable {
        let layout: TableLayout
        let column: TableLayout.Column
        let onDelete: Reference.Action
    }

    private var referrers: [String: [Referrer]] = [:]
    /// The length of the longest chain of references from each table, by table number: parents have lower ranks. A
    /// cycle is cut where it closes.
    private(set) var ranks: [Int64: Int] = [:]

    init(_ layouts: [TableLayout]) {
        for layout in layouts {
            for column in layout.columns {
                guard let reference = column.reference else { continue }
                referrers[reference.table, default: []].append(
                    Referrer(layout: layout, column: column, onDelete: reference.onDelete))
            }
        }
        let byName = Dictionary(layouts.map { ($0.name, $0) }, uniquingKeysWith: { first, _ in first })
        var visiting: Set<Int64> = []
        for layout in layouts { _ = rank(layout, byName, &visiting) }
    }

    func referrers(to table: String) -> [Referrer] { referrers[table] ?? [] }

    /// The tables in `some`, by number, that a deletion in this table can cascade to. Includes the table itself.
    func goingAlong(with layout: TableLayout, among some: Set<Int64>) -> Set<Int64> {
        if some.isEmpty { return [] }
        var met: Set<Int64> = [layout.number]
        var next = [layout.name]
        while let table = next.popLast() {
            for referrer in referrers(to: table)
            where referrer.onDelete == .cascade && met.insert(referrer.layout.number).inserted {
                next.append(referrer.layout.name)
            }
        }
        return met.intersection(some)
    }

    private mutating func rank(_ layout: TableLayout, _ byName: [String: TableLayout], _ visiting: inout Set<Int64>)
        -> Int
    {
        if let known = ranks[layout.number] { return known }
        guard visiting.insert(layout.number).inserted else { return -1 }
        defer { visiting.remove(layout.number) }
        let parents = layout.columns.compactMap { $0.reference.flatMap { byName[$0.table] } }
        let rank = parents.reduce(0) { max($0, self.rank($1, byName, &visiting) + 1) }
        ranks[layout.number] = rank
        return rank
    }
}
