// This source file is part of the Optimist open source project, under the MIT licence.

import GRDB

/// The columns that migrations added to existing tables. Earlier versions of the app do not send them.
struct LaterColumns {
    private var first: [String: Set<String>] = [:]

    /// Runs the migrations one by one in an in-memory database.
    ///
    /// - Throws: What the migrations throw.
    init(_ synced: [any SyncedRecord.Type], migrate: (inout DatabaseMigrator) -> Void) throws {
        var migrator = DatabaseMigrator()
        migrate(&migrator)
        let database = try DatabaseQueue()
        for migration in migrator.migrations {
            try migrator.migrate(database, upTo: migration)
            try database.read { db in
                for table in synced.map({ $0.databaseTableName }) where try first[table] == nil && db.tableExists(table)
                {
                    first[table] = try Set(db.columns(in: table).map(\.name))
                }
            }
        }
    }

    /// Returns the added columns that a row from an earlier app cannot fill.
    func problems(of record: any SyncedRecord.Type, in db: Database) throws -> [TableProblem] {
        let (table, rules) = (record.databaseTableName, record.syncRules)
        guard let first = first[table], try db.tableExists(table, in: "main") else { return [] }
        return try TableLayout.storedColumns(of: table, in: db).filter { column in
            column.isNotNull && column.defaultValueSQL == nil
                && first.isDisjoint(with: [column.name] + rules.formerNames(ofColumn: column.name))
        }.map { column in
            TableProblem(
                table, column.name, isFatal: false,
                says:
                    "a later migration added it as NOT NULL without a default, so rows from older apps are parked. Give it a default, or allow null."
            )
        }
    }
}
