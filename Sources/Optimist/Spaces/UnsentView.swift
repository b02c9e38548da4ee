// This source file is part of the Optimist open source project, under the MIT licence.

import GRDB
import OptimistWire

/// The view `optimist_unsent`: a row for each unsent row of a space, with the space's id as 32 hex digits.
enum UnsentView {
    static let name = "optimist_unsent"

    /// For the app's migrations: see ``EngineSchema/emptyStateViews(in:)``.
    static let empty = "SELECT NULL AS space WHERE 0"

    /// A living row is counted where its root is, so that a move counts in its destination.
    static func query(of layouts: [TableLayout]) -> String {
        let deleted = """
            SELECT lower(hex(o.space)) AS space FROM optimist_edit e
            JOIN optimist_remote r ON r.tbl = e.tbl AND r.id = e.id
            JOIN optimist_scope o ON o.number = r.scope WHERE e.generation & 1 = 0 AND r.scope <> 0
            """
        return ([deleted] + layouts.compactMap { living($0, among: layouts) }).joined(separator: "\nUNION ALL\n")
    }

    /// Nil if the table's rows are in the person's own account.
    private static func living(_ layout: TableLayout, among layouts: [TableLayout]) -> String? {
        var (table, joins, depth) = (layout, "", 0)
        while case .of(let key)? = table.rules.space {
            guard let parent = layouts.first(where: { $0.name == table[column: key]?.reference?.table }),
                depth < layouts.count
            else { return nil }
            joins +=
                " JOIN \(parent.quotedName) t\(depth + 1) ON t\(depth + 1).id = t\(depth).\(key.quotedDatabaseIdentifier)"
            (table, depth) = (parent, depth + 1)
        }
        guard let root = table.anchor else { return nil }
        let space = "t\(depth).\(root.name.quotedDatabaseIdentifier)"
        let digits = root.form == .reference(.text) ? "replace(\(space), '-', '')" : "lower(hex(\(space)))"
        return """
            SELECT \(digits) AS space FROM optimist_edit e JOIN \(layout.quotedName) t0 ON t0.id = e.id\(joins)
            WHERE e.tbl = \(layout.number) AND \(space) IS NOT NULL
            """
    }
}
