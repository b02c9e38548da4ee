// This source file is part of the Optimist open source project, under the MIT licence.

import GRDB
@_spi(Internals) import OptimistWire

/// A problem with syncing a table, described by a sentence that says what to change.
///
/// > Source: SQLite, "CREATE TABLE", on primary keys and generated columns; Documentation/Gotchas.md.
public struct TableProblem: Sendable, Hashable, CustomStringConvertible {
    /// The table.
    public let table: String
    /// The column at fault, or several separated by commas. Nil for the entire table.
    public let column: String?
    /// Whether the store refuses to open. If false, the table syncs, but perhaps not as the app expects.
    public let isFatal: Bool
    public let description: String

    init(_ table: String, _ column: String? = nil, isFatal: Bool = true, says sentence: String) {
        self.table = table
        self.column = column
        self.isFatal = isFatal
        description = "\(table)\(column.map { ".\($0)" } ?? ""): \(sentence)"
    }

    static func all(
        of record: any SyncedRecord.Type, _ references: References, among synced: [any SyncedRecord.Type],
        in db: Database
    ) throws -> [TableProblem] {
        let name = record.databaseTableName
        guard try db.tableExists(name, in: "main") else {
            return [TableProblem(name, says: "the table does not exist. Create it in one of the store's migrations.")]
        }
        let isReserved = ["optimist_", "sqlite_"].contains(where: name.lowercased().hasPrefix)
        guard Schema.isName(name), !isReserved || SpaceTables.contain(name) else {
            return [
                TableProblem(
                    name,
                    says: "the name may contain only letters, digits and underscores, without the prefix \"optimist_\"."
                )
            ]
        }
        var all = try identity(of: record, name, in: db)
        all += try columns(of: record, name, in: db)
        all += try unique(name, record.syncRules.space, in: db)
        all += problems(of: references, name, among: synced)
        all += try rules(of: record, name, in: db)
        return all + (try spaces(of: record, name, among: synced, in: db))
    }

    private static func identity(of record: any SyncedRecord.Type, _ name: String, in db: Database) throws
        -> [TableProblem]
    {
        var problems: [TableProblem] = []
        let key = try db.primaryKey(name, in: "main")
        if key.columns != ["id"] || key.isRowID {
            problems.append(
                TableProblem(
                    name,
                    says: "the primary key must be the single column \"id\" with a UUID: t.primaryKey(\"id\", .blob).")
            )
        }
        if case .uppercaseString = record.databaseUUIDEncodingStrategy(for: "id") {
            problems.append(
                TableProblem(
                    name, "id", says: "UUIDs stored as text must be in lower case: use the strategy .lowercaseString."))
        }
        return problems
    }

    private static func columns(of record: any SyncedRecord.Type, _ name: String, in db: Database) throws
        -> [TableProblem]
    {
        let columns = try TableLayout.storedColumns(of: name, in: db)
        var problems: [TableProblem] = []
        if columns.count > TableLayout.maxColumns + 1 {
            problems.append(
                TableProblem(
                    name, says: "a synced table can have at most \(TableLayout.maxColumns) columns in addition to id."))
        }
        for column in columns {
            if !Schema.isName(column.name) {
                problems.append(
                    TableProblem(
                        name, column.name, says: "a column's name may contain only letters, digits and underscores."))
            }
            if ValueForm.columnType(declared: column.type) == .date,
                !ValueForm.DateForm.supports(record.databaseDateEncodingStrategy(for: column.name))
            {
                problems.append(
                    TableProblem(
                        name, column.name, says: "use GRDB's default date strategy, or one that counts since 1970."))
            }
        }
        return problems
    }

    private static func unique(_ name: String, _ space: SpaceRule?, in db: Database) throws -> [TableProblem] {
        let indexes = try UniqueIndexes(of: name, space, in: db)
        if !indexes.problems.isEmpty { return indexes.problems.map { TableProblem(name, says: $0) } }
        return indexes.columns.map { columns in
            TableProblem(
                name, columns.joined(separator: ", "), isFatal: false,
                says:
                    "it is UNIQUE, so the server decides which device was first: declare it in the server's schema as \"@unique\"."
            )
        }
    }
}
