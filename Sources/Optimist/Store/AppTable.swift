// This source file is part of the Optimist open source project, under the MIT licence.

import GRDB
import OptimistWire

/// Reads and writes the rows of one of the app's tables, in wire values, within one transaction.
///
/// One of these serves all rows of a page or a push: its statements are made once for each set of columns.
final class AppTable {
    let layout: TableLayout
    let db: Database
    private var puts: [Int64: RowStatement] = [:]
    private var sets: [Int64: RowStatement] = [:]
    private lazy var reading = Result { try RowStatement(selectSQL, in: db) }
    private lazy var deleting = Result { try RowStatement("DELETE FROM \(layout.quotedName) WHERE id = ?", in: db) }

    init(layout: TableLayout, db: Database) {
        self.layout = layout
        self.db = db
    }

    /// The values of a row, or nil if there is none.
    func values(_ id: DatabaseValue) throws -> JSONObject? {
        try reading.get().first([id]) { row in
            JSONObject(zip(Int32(0)..., layout.columns).map { ($1.name, $1.form.wire(row.value($0))) })
        }
    }

    /// The values of some columns, as of those that a change is about to overwrite. Nil for no columns, or no row.
    func values(_ id: DatabaseValue, in mask: Int64) throws -> JSONObject? {
        guard mask != 0, let values = try values(id) else { return nil }
        return JSONObject(layout.columns(in: mask).map { ($0.name, values[$0.name] ?? .null) })
    }

    func contains(_ id: DatabaseValue) throws -> Bool {
        try Bool.fetchOne(
            db.cachedStatement(sql: "SELECT EXISTS (SELECT 1 FROM \(layout.quotedName) WHERE id = ?)"), arguments: [id])
            ?? false
    }

    /// The rows in which columns have these values.
    func ids(where columns: [TableLayout.Column], are values: [DatabaseValue]) throws -> [DatabaseValue] {
        let condition = columns.map { "\($0.quotedName) = ?" }.joined(separator: " AND ")
        return try DatabaseValue.fetchAll(
            db.cachedStatement(sql: "SELECT id FROM \(layout.quotedName) WHERE \(condition)"),
            arguments: StatementArguments(values))
    }

    /// The columns of each unique index, but for the primary key.
    var uniqueIndexes: [[String]] {
        get throws { try db.indexes(on: layout.name).filter { $0.isUnique && $0.columns != ["id"] }.map(\.columns) }
    }

    /// Makes a change. Values of columns that this app does not know are left out.
    func make(_ change: RowChange, at id: DatabaseValue) throws {
        switch change {
        case .none: break
        case .delete: try deleting.get().execute([id])
        case .put(let values): try put(values, at: id)
        case .set(let values): try set(values, at: id)
        }
    }

    /// A value as SQLite's own literal, to be compared with what the triggers wrote.
    func quote(_ column: TableLayout.Column, _ value: JSON) throws -> String {
        try String.fetchOne(db.cachedStatement(sql: "SELECT quote(?)"), arguments: [column.form.stored(value)])
            ?? "NULL"
    }

    /// Inserts a row or replaces every column of it.
    private func put(_ values: JSONObject, at id: DatabaseValue) throws {
        let known = stored(wholeRow(values))
        let statement = try puts[known.mask] ?? RowStatement(putSQL(known.mask), in: db)
        puts[known.mask] = statement
        try statement.execute(known.values + [id])
    }

    private func set(_ values: JSONObject, at id: DatabaseValue) throws {
        let known = stored(values)
        if known.mask == 0 { return }
        let statement = try sets[known.mask] ?? RowStatement(setSQL(known.mask), in: db)
        sets[known.mask] = statement
        try statement.execute(known.values + [id])
    }

    /// What is not among the values is null, the default of every column on the wire; where the table forbids that, the
    /// table's own default.
    private func wholeRow(_ values: JSONObject) -> JSONObject {
        JSONObject(
            layout.columns.compactMap { column in
                let value = values[column.name] ?? .null
                return value.isNull && !column.isNullable ? nil : (column.name, value)
            })
    }

    /// The stored forms of the columns that are known, in the table's order.
    private func stored(_ values: JSONObject) -> (mask: Int64, values: [DatabaseValue]) {
        var known: (mask: Int64, values: [DatabaseValue]) = (0, [])
        known.values.reserveCapacity(layout.columns.count + 1)
        for column in layout.columns {
            guard let value = values[column.name] else { continue }
            known.mask |= column.mask
            known.values.append(column.form.stored(value))
        }
        return known
    }

    // MARK: - SQL

    private var selectSQL: String {
        let names = layout.columns.isEmpty ? "1" : layout.columns.map(\.quotedName).joined(separator: ", ")
        return "SELECT \(names) FROM \(layout.quotedName) WHERE id = ?"
    }

    private func putSQL(_ mask: Int64) -> String {
        let columns = layout.columns(in: mask)
        let update = layout.columns.map { "\($0.quotedName) = excluded.\($0.quotedName)" }.joined(separator: ", ")
        return """
            INSERT INTO \(layout.quotedName)(\((columns.map(\.quotedName) + ["id"]).joined(separator: ", "))) \
            VALUES (\(String(repeating: "?, ", count: columns.count))?) \
            ON CONFLICT(id) DO \(update.isEmpty ? "NOTHING" : "UPDATE SET " + update)
            """
    }

    private func setSQL(_ mask: Int64) -> String {
        let assignments = layout.columns(in: mask).map { "\($0.quotedName) = ?" }.joined(separator: ", ")
        return "UPDATE \(layout.quotedName) SET \(assignments) WHERE id = ?"
    }
}

/// The app's tables within one transaction, each made once.
struct AppTables {
    private let tables: [AppTable]

    init(_ layouts: [TableLayout], _ db: Database) { tables = layouts.map { AppTable(layout: $0, db: db) } }

    subscript(number: Int64) -> AppTable? { tables.first { $0.layout.number == number } }
    subscript(name: String) -> AppTable? { tables.first { $0.layout.name == name } }
}

extension TableLayout {
    var quotedName: String { "\"\(name)\"" }
}

extension TableLayout.Column {
    fileprivate var quotedName: String { "\"\(name)\"" }
}
