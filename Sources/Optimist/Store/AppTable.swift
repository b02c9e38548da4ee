// This source file is part of the Optimist open source project, under the MIT licence.

import GRDB
import OptimistWire

/// Reads and writes the rows of one of the app's tables, in wire values.
struct AppTable {
    let layout: TableLayout
    let db: Database

    /// The values of a row, or nil if there is none.
    func values(_ id: DatabaseValue) throws -> JSONObject? {
        let names = layout.columns.map { "\"\($0.name)\"" }
        let statement = try db.cachedStatement(
            sql: "SELECT \((["id"] + names).joined(separator: ", ")) FROM \"\(layout.name)\" WHERE id = ?")
        guard let row = try Row.fetchOne(statement, arguments: [id]) else { return nil }
        return JSONObject(
            layout.columns.enumerated().map { ($1.name, $1.form.wire(row[$0 + 1])) })
    }

    /// Makes a change. Values of columns that this app does not know are left out.
    func make(_ change: RowChange, at id: DatabaseValue) throws {
        switch change {
        case .none: break
        case .delete: try db.cachedStatement(sql: "DELETE FROM \"\(layout.name)\" WHERE id = ?").execute(arguments: [id])
        case .put(let values): try put(values, at: id)
        case .set(let values): try set(values, at: id)
        }
    }

    /// Inserts a row or replaces every column of it; what is not among the values takes its default.
    private func put(_ values: JSONObject, at id: DatabaseValue) throws {
        let known = known(values)
        let names = known.map { "\"\($0.column.name)\"" }
        let update = layout.columns.map { "\"\($0.name)\" = excluded.\"\($0.name)\"" }.joined(separator: ", ")
        let sql = """
            INSERT INTO "\(layout.name)"(\((["id"] + names).joined(separator: ", "))) \
            VALUES (?\(String(repeating: ", ?", count: known.count))) \
            ON CONFLICT(id) DO \(update.isEmpty ? "NOTHING" : "UPDATE SET " + update)
            """
        try db.cachedStatement(sql: sql).execute(
            arguments: StatementArguments([id] + known.map { $0.column.form.stored($0.value) }))
    }

    private func set(_ values: JSONObject, at id: DatabaseValue) throws {
        let known = known(values)
        guard !known.isEmpty else { return }
        let assignments = known.map { "\"\($0.column.name)\" = ?" }.joined(separator: ", ")
        try db.cachedStatement(sql: "UPDATE \"\(layout.name)\" SET \(assignments) WHERE id = ?").execute(
            arguments: StatementArguments(known.map { $0.column.form.stored($0.value) } + [id]))
    }

    private func known(_ values: JSONObject) -> [(column: TableLayout.Column, value: JSON)] {
        values.compactMap { name, value in layout[column: name].map { ($0, value) } }
    }

    /// A value as SQLite's own literal, to be compared with what the triggers wrote.
    func quote(_ column: TableLayout.Column, _ value: JSON) throws -> String {
        try String.fetchOne(db.cachedStatement(sql: "SELECT quote(?)"), arguments: [column.form.stored(value)]) ?? "NULL"
    }
}
