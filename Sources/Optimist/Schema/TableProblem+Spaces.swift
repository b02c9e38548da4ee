// This source file is part of the Optimist open source project, under the MIT licence.

import GRDB
@_spi(Internals) import OptimistWire

extension TableProblem {
    /// Problems of a table whose rows can be in a space. A device has the rows of all spaces in one table, and the server
    /// keeps each space apart.
    static func spaces(
        of record: any SyncedRecord.Type, _ name: String, among synced: [any SyncedRecord.Type], in db: Database
    )
        throws -> [TableProblem]
    {
        guard synced.contains(where: { $0.syncRules.space != nil }) else { return [] }
        let schema = try Schema(spacesOf: synced, in: db)
        let rule = record.syncRules.space
        let faults = schema.faultsOfSpace(of: name).map {
            TableProblem(name, rule?.column, says: "the rule SyncRules.space \($0)")
        }
        return try faults.isEmpty ? rule.map { try unique(name, $0, in: db) } ?? [] : faults
    }

    private static func unique(_ name: String, _ rule: SpaceRule, in db: Database) throws -> [TableProblem] {
        let indexes = try UniqueIndexes(of: name, rule, in: db)
        let narrow = indexes.columns.filter { !$0.contains(rule.column) }.map { columns in
            TableProblem(
                name, columns.joined(separator: ", "),
                says: """
                    it is UNIQUE in all spaces, but people share only some of them, and the server compares the rows of \
                    one space. Add \(rule.column) to the index.
                    """)
        }
        guard case .own(let space) = rule else { return narrow }
        let open = indexes.columns.filter { $0.contains(space) && !indexes.isUniqueInPersonal($0) }.map { columns in
            let others = columns.filter { $0 != space }.joined(separator: ", ")
            return TableProblem(
                name, columns.joined(separator: ", "), isFatal: false,
                says: """
                    if \(space) is null, SQLite accepts rows with the same values, and the server then refuses one of \
                    them. Add CREATE UNIQUE INDEX … ON \(name)(\(others)) WHERE \(space) IS NULL.
                    """)
        }
        return narrow + open
    }
}

extension Schema {
    /// Makes a schema that has only the tables' space rules and references.
    fileprivate init(spacesOf synced: [any SyncedRecord.Type], in db: Database) throws {
        self.init(id: "", types: [:])
        let names = synced.map { $0.databaseTableName }
        for record in synced {
            let name = record.databaseTableName
            var type = TypeSchema(columns: [:])
            type.space = record.syncRules.space
            let references = try References(of: name, among: names, in: db).columns
            for column in try TableLayout.storedColumns(of: name, in: db) where column.name != "id" {
                let target = references[column.name]?.table
                let isSpace = type.space == .own(column.name)
                type.columns[column.name] = ColumnSchema(
                    target != nil || isSpace ? .ref : ValueForm.columnType(declared: column.type),
                    isRequired: column.isNotNull, target: target)
            }
            types[name] = type
        }
    }
}
