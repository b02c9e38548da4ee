// This source file is part of the Optimist open source project, under the MIT licence.

import GRDB
import OptimistWire

/// Judges the law of a row: a device's table shows the server's last values, with unsent edits on top.
///
/// A clock identifies one write, so a value with the server's clock must be the server's value under that clock.
/// The device keeps the server's value in the table or, for an edited column, as the base of the edit. A synced row has
/// only values that the server had.
extension Oracle {
    struct Shown {
        let db: Database
        let rows: [RowName: Values]
        /// The rows that are reported as different from the server's.
        let unsettled: Set<RowName>

        init(_ db: Database) throws {
            self.db = db
            rows = try Rows.all(db)
            unsettled = try Rows.names(db, "SELECT tableName, id FROM optimist_state WHERE state <> 'synced'")
        }
    }

    func findings(on shown: Shown) throws -> [(row: RowName, text: String)] {
        let strangers = shown.rows.keys.sorted().filter {
            !shown.unsettled.contains($0) && history.log.versions(of: $0).isEmpty
        }
        return strangers.map { ($0, "untrue: \($0) is called synced, and the server never had it (Q2)") }
            + (try Row.fetchAll(shown.db.cachedStatement(sql: Self.knownCells)).compactMap { row in
                guard let (cell, clock) = try held(row, shown) else { return nil }
                return finding(on: cell, under: clock, shown).map { (cell.row, $0) }
            })
    }

    private func finding(on cell: Cell, under clock: String?, _ shown: Shown) -> String? {
        var had = clock.map { history.log.values(of: cell.column, in: cell.row, under: $0) } ?? []
        if had.isEmpty, shown.unsettled.contains(cell.row) { return nil }
        if had.isEmpty { had = history.log.values(of: cell.column, in: cell.row) }
        if had.contains(cell.value) || isLeftBehind(cell, shown) { return nil }
        let values = had.map { $0 ?? "null" }.sorted().joined(separator: " or ")
        return "unlawful: \(cell), and the server had \(values) (the law of a row)"
    }

    /// Whether a reference has the value that SQLite or a merge gave it when its target disappeared. The server's
    /// decision may arrive later.
    private func isLeftBehind(_ cell: Cell, _ shown: Shown) -> Bool {
        history.log.values(of: cell.column, in: cell.row).contains { former in
            let onDelete: ColumnSchema.OnDelete? = cell.value == nil ? .setNull : nil
            guard let target = Tables.target(of: former, in: cell.column, of: cell.row.table, on: onDelete) else {
                return false
            }
            // The target may exist again as an unsent row.
            return shown.rows[target] == nil || shown.unsettled.contains(target)
        }
    }

    /// The columns with a value from the server, in the current life or in the life that the server lost.
    private static let knownCells = """
        SELECT t.name, r.id, c.name, e.dirty >> c.bit & 1 AS isDirty,
        coalesce(r.clocks ->> ('$."' || c.name || '"'), printf('%016x', r.clock) || '-' || n.device) AS clock,
        e.stamps ->> ('$."' || c.name || '"') AS stamp, json_type(e.stamps, '$."' || c.name || '"') = 'text' AS isOriginal,
        e.base ->> ('$."' || c.name || '"') AS base
        FROM optimist_remote r JOIN optimist_table t ON t.number = r.tbl
        JOIN optimist_column c ON c.tbl = r.tbl AND c.bit > 0 AND r.known >> c.bit & 1
        LEFT JOIN optimist_node n ON n.number = r.node AND r.clock <> 0
        LEFT JOIN optimist_edit e ON e.tbl = r.tbl AND e.id = r.id
        WHERE coalesce(e.generation, r.generation) & 1
        AND (r.generation = coalesce(e.generation, r.generation) OR e.stamps ->> '$.@life' IS NOT NULL)
        """

    /// The value that the device holds as the server's, and its clock.
    private func held(_ row: Row, _ shown: Shown) throws -> (cell: Cell, clock: String?)? {
        let column: String = row[2]
        guard let name = Rows.text(row[1]).map({ RowName(table: row[0], id: $0) }),
            let value = shown.rows[name]?[column], Tables.column(column, of: name.table)?.kind != .counter
        else { return nil }
        let clock = row["clock"] as String?
        if row["isDirty"] as Bool? != true { return (Cell(row: name, column: column, value: value), clock) }
        if row["isOriginal"] as Bool? == true { return (Cell(row: name, column: column, value: value), row["stamp"]) }
        guard clock != nil, let base = row["base"] as String? else { return nil }
        let stored = try DatabaseValue.fetchOne(shown.db, sql: "SELECT \(base)")
        return (Cell(row: name, column: column, value: stored.flatMap(Rows.text)), clock)
    }
}
