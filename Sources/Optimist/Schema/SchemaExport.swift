// This source file is part of the Optimist open source project, under the MIT licence.

public import Foundation
import GRDB
import OptimistCore
@_spi(Internals) public import OptimistWire

extension Schema {
    /// Exports a server schema from an app's database.
    ///
    /// Foreign keys determine the effect of deleting a row on rows that refer to it; without `ON DELETE`, they restrict
    /// the deletion, as in SQLite. Unique indexes get the policy `reject`. The export contains the synced tables or, if
    /// no store has opened the database, every table whose primary key is the single column `id`. Column types follow
    /// the declared types. A column that is NOT NULL without a default is required. Column rules are those of the app
    /// that last opened the database: see ``SyncRules/columns``.
    ///
    /// - Throws: `OptimistError` with code `notADatabase` or `invalidTable`.
    @_spi(Internals) public init(exporting url: URL, id: String, version: Int = 1) throws {
        let file = StoreFile(url: url)
        guard FileManager.default.fileExists(atPath: url.path) else {
            throw OptimistError(.notADatabase, "The file \(url.path) does not exist.")
        }
        try file.check(against: nil)
        self = try file.reading { db in
            var schema = Schema(id: id, version: version, types: [:])
            let note = try ColumnRulesNote(in: db)
            let tables = try Self.tables(db)
            for table in tables {
                var type = try TypeSchema(exporting: table, among: tables, in: db)
                for (column, rules) in note.rules[table] ?? [:] { type.columns[column]?.rules = rules }
                schema.types[table] = type
            }
            guard !schema.types.isEmpty else {
                throw OptimistError(
                    .invalidTable,
                    "\(url.lastPathComponent) does not have a table whose primary key is the single column \"id\".")
            }
            return schema
        }
    }

    private static func tables(_ db: Database) throws -> [String] {
        if try db.tableExists("optimist_table") {
            // The server adds the engine's tables by itself.
            return try String.fetchAll(db, sql: "SELECT name FROM optimist_table ORDER BY number")
                .filter { !SpaceTables.contain($0) }
        }
        let all = try String.fetchAll(
            db, sql: "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT GLOB 'sqlite_*' ORDER BY name")
        return try all.filter { table in
            let key = try db.primaryKey(table)
            return key.columns == ["id"] && !key.isRowID
        }
    }
}

extension TypeSchema {
    fileprivate init(exporting table: String, among tables: [String], in db: Database) throws {
        self.init(columns: [:])
        let counters = try read(rulesOf: table, in: db)
        let references = try References(of: table, among: tables, in: db).columns
        for column in try TableLayout.storedColumns(of: table, in: db) where column.name != "id" {
            let reference = references[column.name]
            let isRequired = column.isNotNull && column.defaultValueSQL == nil
            columns[column.name] = ColumnSchema(
                reference == nil && space != .own(column.name) ? ValueForm.columnType(declared: column.type) : .ref,
                isRequired: isRequired,
                target: reference?.table, onDelete: reference.map { $0.onDelete.exported(isRequired: isRequired) })
        }
        let indexes = try UniqueIndexes(of: table, space, in: db)
        if let problem = indexes.problems.first { throw OptimistError(.invalidTable, "\(table): \(problem)") }
        uniqueIndexes = indexes.onServer.map { UniqueIndex($0) }
        for name in counters { columns[name] = ColumnSchema(.counter) }
    }

    /// Reads the rules that the app's code declares, as saved by a store. Returns the counters.
    private mutating func read(rulesOf table: String, in db: Database) throws -> [String] {
        guard try db.tableExists("optimist_table") else { return [] }
        let sql = "SELECT counters, editWins, space FROM optimist_table WHERE name = ?"
        guard let row = try Row.fetchOne(db, sql: sql, arguments: [table]) else { return [] }
        func json(_ text: String?) -> JSON? { text.flatMap { try? JSON(parsing: $0.utf8) } }
        editWins = row[1]
        space = json(row[2]).flatMap { SpaceRule(json: $0) }
        return json(row[0])?.array?.compactMap(\.string) ?? []
    }
}

extension Reference.Action {
    /// A required column cannot become null.
    fileprivate func exported(isRequired: Bool) -> ColumnSchema.OnDelete {
        switch self {
        case .cascade: .cascade
        case .setNull where !isRequired: .setNull
        case .setNull, .restrict: .restrict
        }
    }
}
