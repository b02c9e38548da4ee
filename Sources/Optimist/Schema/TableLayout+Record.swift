// This source file is part of the Optimist open source project, under the MIT licence.

import GRDB
import OptimistCore
@_spi(Internals) import OptimistWire

extension TableLayout {
    /// Reads the layout of a record's table, and assigns bits to new columns.
    ///
    /// - Throws: `OptimistError` with code `invalidTable` and a message that says what to change.
    init(of record: any SyncedRecord.Type, among synced: [any SyncedRecord.Type], in db: Database) throws {
        let name = record.databaseTableName
        let references = try References(of: name, among: synced.map { $0.databaseTableName }, in: db)
        let problems = try TableProblem.all(of: record, references, among: synced, in: db)
        if let problem = problems.first(where: \.isFatal) {
            throw OptimistError(.invalidTable, problem.description)
        }
        let rules = record.syncRules
        let number = try Self.number(of: name, rules, in: db)
        let stored = try Self.storedColumns(of: name, in: db).filter { $0.name != "id" }
        let names = Set(stored.map(\.name))
        var bits = try ColumnBits(table: name, number: number, columns: names, db: db)
        try GoneColumns(table: name, number: number, rules: rules, db: db).settle(&bits)
        let columns = try stored.map { info in
            let reference = references.columns[info.name]
            let targetForm =
                try reference.map { try Self.idForm(of: $0.table, among: synced, in: db) }
                ?? (rules.space == .own(info.name) ? UUIDForm(of: info, in: record) : nil)
            return Column(
                name: info.name, bit: try bits.bit(of: info.name),
                form: rules.counters.contains(info.name)
                    ? .counter : ValueForm(column: info, record: record, reference: targetForm),
                isNullable: !info.isNotNull, reference: reference)
        }
        self.init(
            number: number, name: name, idForm: try Self.idForm(of: name, among: synced, in: db), columns: columns,
            rules: rules)
    }

    /// Returns a table's number. Registers a new table, and stores the rules for tools that do not see the app's code.
    private static func number(of name: String, _ rules: SyncRules, in db: Database) throws -> Int64 {
        let names = JSON.array(rules.counters.sorted().map(JSON.string)).description
        let counters = rules.counters.isEmpty ? nil : names
        let known = try Row.fetchOne(
            db.cachedStatement(sql: "SELECT number, counters, editWins, space FROM optimist_table WHERE name = ?"),
            arguments: [name])
        let space = rules.space?.json.description
        if let known, known[1] == counters, known[2] == rules.editWins, known[3] == space { return known[0] }
        try db.execute(
            sql: """
                INSERT INTO optimist_table(name, counters, editWins, space) VALUES (?, ?, ?, ?)
                ON CONFLICT(name) DO UPDATE SET counters = excluded.counters, editWins = excluded.editWins,
                space = excluded.space
                """, arguments: [name, counters, rules.editWins, space])
        return known?[0] ?? db.lastInsertedRowID
    }

    /// Returns how a table and the foreign keys to it store ids.
    private static func idForm(
        of table: String, among synced: [any SyncedRecord.Type], in db: Database
    ) throws -> UUIDForm {
        let declared = try db.columns(in: table, in: "main").first { $0.name == "id" }?.type ?? ""
        let record = synced.first { $0.databaseTableName == table }
        return record.map { UUIDForm(idsOf: $0, declared: declared) } ?? UUIDForm(declared: declared)
    }

    /// Returns the columns except generated ones.
    static func storedColumns(of table: String, in db: Database) throws -> [ColumnInfo] {
        let hidden = try db.cachedStatement(sql: "SELECT name FROM pragma_table_xinfo(?, 'main') WHERE hidden <> 0")
        let generated = try String.fetchSet(hidden, arguments: [table])
        return try db.columns(in: table, in: "main").filter { !generated.contains($0.name) }
    }
}
