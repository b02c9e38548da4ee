// This source file is part of the Optimist open source project, under the MIT licence.

import GRDB
import OptimistWire

/// Judges the law of a row: the app's table shows the server's last values, with unsent edits on top.
///
/// A clock identifies one write, so a value with the server's clock must be one that the server had under that clock.
/// The device keeps it in the table or, for an edited column, as the base of the edit.
struct LawJudge {
    let history: History
    let db: Database
    let rows: [RowName: Values]

    struct Finding {
        let row: RowName
        let text: String
    }

    private struct Held {
        let row: RowName
        let column: String
        let value: String?
        let clock: String
    }

    func findings() throws -> [Finding] {
        try Row.fetchAll(db, sql: Self.knownCells).compactMap(held).compactMap { held in
            guard let had = history.written[held.row]?[held.column]?[held.clock], !had.contains(held.value),
                !history.isLeftBehind(held.value, held.column, held.row, isGone: { rows[$0] == nil })
            else { return nil }
            let values = had.map { $0 ?? "null" }.sorted().joined(separator: " or ")
            return Finding(
                row: held.row,
                text: "\(held.row).\(held.column) holds \(held.value ?? "null"), but the server had \(values)")
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

    private func held(_ cell: Row) throws -> Held? {
        let column: String = cell[2]
        guard let row = Rows.text(cell[1]).map({ RowName(table: cell[0], id: $0) }), let value = rows[row]?[column],
            let kind = Tables.column(column, of: row.table)?.kind, kind != .counter,
            let confirmed = cell["clock"] as String?
        else { return nil }
        if cell["isDirty"] as Bool? != true {
            return Held(row: row, column: column, value: value, clock: confirmed)
        }
        if cell["isOriginal"] as Bool? == true {
            return Held(row: row, column: column, value: value, clock: cell["stamp"])
        }
        guard let base = cell["base"] as String? else { return nil }
        let stored = try DatabaseValue.fetchOne(db, sql: "SELECT \(base)")
        return Held(row: row, column: column, value: stored.flatMap(Rows.text), clock: confirmed)
    }
}
