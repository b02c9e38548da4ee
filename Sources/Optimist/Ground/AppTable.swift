// This source file is part of the Optimist open source project, under the MIT licence.

import GRDB
import OptimistWire

/// Access to the rows of an app's table as wire values, within one transaction.
///
/// One instance serves all rows of a page or a push, and prepares each statement once per set of columns.
final class AppTable {
    let layout: TableLayout
    let db: Database
    private let counters: [TableLayout.Column]
    private let sortedNames: [String]
    private var puts: [Int64: RowStatement] = [:]
    private var sets: [Int64: RowStatement] = [:]
    private lazy var reading = Result { try RowStatement(selectSQL, in: db) }
    private lazy var indexes = Result { try UniqueIndexes(of: layout.name, layout.rules.space, in: db).columns }
    private lazy var deleting = Result { try RowStatement("DELETE FROM \(layout.quotedName) WHERE id = ?", in: db) }

    /// The conflict clause for received rows. Usually empty, because SQLite would apply it inside the app's triggers
    /// too. It is ABORT if the table declares a conflict clause: a received row must not replace another row or be
    /// dropped silently.
    private lazy var orAbort = Result {
        let sql = """
            SELECT 'OR ABORT ' FROM sqlite_master WHERE type = 'table' AND name = ? COLLATE NOCASE \
            AND sql LIKE '%on%conflict%'
            """
        return try String.fetchOne(db.cachedStatement(sql: sql), arguments: [layout.name]) ?? ""
    }

    init(layout: TableLayout, db: Database) {
        self.layout = layout
        self.db = db
        counters = layout.counters
        sortedNames = layout.columns.map(\.name).sorted()
    }

    func values(_ id: DatabaseValue) throws -> JSONObject? {
        try reading.get().first([id]) { row in
            JSONObject(zip(Int32(0)..., layout.columns).map { ($1.name, $1.form.wire(row.value($0))) })
        }
    }

    /// Nil for an empty mask or a missing row.
    func values(_ id: DatabaseValue, in mask: Int64) throws -> JSONObject? {
        guard mask != 0, let values = try values(id) else { return nil }
        return JSONObject(layout.columns(in: mask).map { ($0.name, values[$0.name] ?? .null) })
    }

    func contains(_ id: DatabaseValue) throws -> Bool {
        try Bool.fetchOne(
            db.cachedStatement(sql: "SELECT EXISTS (SELECT 1 FROM \(layout.quotedName) WHERE id = ?)"), arguments: [id])
            ?? false
    }

    func ids(where columns: [TableLayout.Column], are values: [DatabaseValue]) throws -> [DatabaseValue] {
        let condition = columns.map { "\($0.quotedName) IS ?" }.joined(separator: " AND ")
        var ids: [DatabaseValue] = []
        try RowStatement("SELECT id FROM \(layout.quotedName) WHERE \(condition)", in: db)
            .forEach(values) { ids.append($0.value(0)) }
        return ids
    }

    var uniqueIndexes: [[String]] {
        get throws { try indexes.get() }
    }

    /// Whether any of the values belongs to a column that this app does not know.
    func lacksColumn(in values: JSONObject) -> Bool {
        var next = sortedNames.startIndex
        // The server sends names in this order too.
        return values.members.indices.contains { member in
            let name = values.members[member].key
            let index = sortedNames[next...].firstIndex(of: name) ?? sortedNames.firstIndex(of: name)
            next = index.map { $0 + 1 } ?? sortedNames.startIndex
            return index == nil
        }
    }

    // MARK: - Changes

    // These functions ignore unknown columns, and throw `DatabaseError`. Errors of the app's triggers and indexes count
    // as constraint errors.

    /// Inserts a row, or replaces all its columns.
    ///
    /// - Parameter kept: The mask of the columns that keep their present values.
    func put(_ values: JSONObject, at id: DatabaseValue, keeping kept: Int64 = 0) throws {
        try DatabaseError.asConstraint {
            guard let mine = try self.values(id, in: kept) else {
                return try write(counted(values, at: id, isWhole: true), at: id)
            }
            var values = values
            values.replace(with: mine)
            try write(values, at: id)
        }
    }

    func set(_ values: JSONObject, at id: DatabaseValue) throws {
        try DatabaseError.asConstraint { try update(counted(values, at: id), at: id) }
    }

    func delete(_ id: DatabaseValue) throws {
        try DatabaseError.asConstraint { try deleting.get().execute([id]) }
    }

    /// Resolves counters: adds a counter change from a rejection or the journal to the present value. A counter that is
    /// not named keeps its value.
    private func counted(_ values: JSONObject, at id: DatabaseValue, isWhole: Bool = false) throws -> JSONObject {
        if counters.isEmpty { return values }
        let relative = counters.filter { values[$0.name].map { $0.object != nil } ?? isWhole }
        if relative.isEmpty { return values }
        let present = try self.values(id) ?? [:]
        var values = values
        for column in relative {
            let added = values[column.name].flatMap(CounterChange.added) ?? 0
            values[column.name] = .int((present[column.name]?.int ?? 0) &+ added)
        }
        return values
    }

    private func write(_ values: JSONObject, at id: DatabaseValue) throws {
        var known = stored(values, isWhole: true)
        let statement = try puts[known.mask] ?? RowStatement(putSQL(known.mask), in: db)
        puts[known.mask] = statement
        known.values.append(id)
        try statement.execute(known.values)
    }

    /// A null in a NOT NULL column becomes the column's default, as when an entire row is put.
    private func update(_ values: JSONObject, at id: DatabaseValue) throws {
        let isForbidden = values.contains { name, value in value.isNull && layout[column: name]?.isNullable == false }
        if isForbidden, var whole = try self.values(id) {
            whole.replace(with: values)
            return try write(whole, at: id)
        }
        var known = stored(values, isWhole: false)
        if known.mask == 0 { return }
        let statement = try sets[known.mask] ?? RowStatement(setSQL(known.mask), in: db)
        sets[known.mask] = statement
        known.values.append(id)
        try statement.execute(known.values)
    }

    /// The stored values of known columns, in table order.
    ///
    /// - Parameter isWhole: Whether a missing value counts as null, the default of every column on the wire. In a NOT
    ///   NULL column, the table's default applies.
    private func stored(_ values: JSONObject, isWhole: Bool) -> (mask: Int64, values: [DatabaseValue]) {
        var known: (mask: Int64, values: [DatabaseValue]) = (0, [])
        known.values.reserveCapacity(layout.columns.count + 1)
        for column in layout.columns {
            let given = values[column.name]
            if given == nil, !isWhole { continue }
            let value = given ?? .null
            if isWhole, value.isNull, !column.isNullable { continue }
            known.mask |= column.mask
            known.values.append(column.form.stored(value))
        }
        return known
    }

    func isEmpty(from first: DatabaseValue, to last: DatabaseValue) throws -> Bool {
        try Bool.fetchOne(
            db.cachedStatement(sql: "SELECT NOT EXISTS (SELECT 1 FROM \(layout.quotedName) WHERE id BETWEEN ? AND ?)"),
            arguments: [first, last]) ?? false
    }

    // MARK: - SQL

    private var selectSQL: String {
        let names = layout.columns.isEmpty ? "1" : layout.columns.map(\.quotedName).joined(separator: ", ")
        return "SELECT \(names) FROM \(layout.quotedName) WHERE id = ?"
    }

    private func putSQL(_ mask: Int64) throws -> String {
        let columns = layout.columns(in: mask)
        let update = layout.columns.map { "\($0.quotedName) = excluded.\($0.quotedName)" }.joined(separator: ", ")
        return try """
        INSERT \(orAbort.get())INTO \(layout.quotedName)(\((columns.map(\.quotedName) + ["id"]).joined(separator: ", "))) \
        VALUES (\(String(repeating: "?, ", count: columns.count))?) \
        ON CONFLICT(id) DO \(update.isEmpty ? "NOTHING" : "UPDATE SET " + update)
        """
    }

    private func setSQL(_ mask: Int64) throws -> String {
        let assignments = layout.columns(in: mask).map { "\($0.quotedName) = ?" }.joined(separator: ", ")
        return try "\(updateSQL) \(assignments) WHERE id = ?"
    }

    var updateSQL: String {
        get throws { try "UPDATE \(orAbort.get())\(layout.quotedName) SET" }
    }
}

/// The app's tables within one transaction.
struct AppTables {
    private let tables: [AppTable]

    init(_ layouts: [TableLayout], _ db: Database) { tables = layouts.map { AppTable(layout: $0, db: db) } }

    var references: ReferenceGraph { ReferenceGraph(tables.map(\.layout)) }

    subscript(number: Int64) -> AppTable? { tables.first { $0.layout.number == number } }
    subscript(name: String) -> AppTable? { tables.first { $0.layout.name == name } }

    /// The row that a value of a column refers to, or nil if none.
    func owner(by column: TableLayout.Column, _ value: JSON?) -> RowRef? {
        guard let value, let table = column.reference.flatMap({ self[$0.table] }) else { return nil }
        let id = column.form.stored(value)
        return id.isNull ? nil : RowRef(table: table.layout.number, id: id)
    }

    func ref(named name: String) -> RowRef? {
        guard let colon = name.firstIndex(of: ":"), let table = self[String(name[..<colon])],
            let id = table.layout.idForm.stored(String(name[name.index(after: colon)...]))
        else { return nil }
        return RowRef(table: table.layout.number, id: id)
    }

    /// The row's name in pushes and answers. Nil if the app does not have the table.
    func name(of ref: RowRef) -> String? {
        self[ref.table].flatMap { table in table.layout.idForm.wire(ref.id).map { "\(table.layout.name):\($0)" } }
    }
}

extension JSONObject {
    /// Merges in the values of another object, which take precedence.
    mutating func replace(with others: JSONObject) { for (name, value) in others { self[name] = value } }
}

extension TableLayout {
    /// The table in the main database. Without `main`, a temporary table of the same name would hide it.
    var quotedName: String { "main.\"\(name)\"" }
}

extension TableLayout.Column {
    fileprivate var quotedName: String { "\"\(name)\"" }
}
