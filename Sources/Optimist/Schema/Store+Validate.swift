// This source file is part of the Optimist open source project, under the MIT licence.

public import GRDB

extension Store {
    /// Returns all problems that would keep the tables from syncing as expected.
    ///
    /// - Parameters:
    ///   - synced: The record types to open the store with.
    ///   - reader: The database after the app's migrations.
    ///   - migrate: Registers the app's migrations, as for the store. They run in an in-memory database to find
    ///     the columns that later versions of the app added, because rows from older versions lack these columns.
    ///     Default: nil, which skips this check.
    /// - Throws: `DatabaseError`, or what the migrations throw.
    public static func validate(
        _ synced: [any SyncedRecord.Type], in reader: any DatabaseReader,
        migrate: ((inout DatabaseMigrator) -> Void)? = nil
    ) throws -> [TableProblem] {
        let later = try migrate.map { try LaterColumns(synced, migrate: $0) }
        return try reader.read { db in
            try synced.flatMap { record in
                let names = synced.map { $0.databaseTableName }
                let references = try References(of: record.databaseTableName, among: names, in: db)
                return try TableProblem.all(of: record, references, among: synced, in: db)
                    + TableProblem.triggers(of: record, among: synced, in: db)
                    + (later?.problems(of: record, in: db) ?? [])
            }
        }
    }
}
