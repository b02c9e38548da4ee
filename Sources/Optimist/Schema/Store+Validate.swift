// This source file is part of the Optimist open source project, under the MIT licence.

public import GRDB

extension Store {
    /// Finds everything that would keep the synced tables from syncing as an app might expect. Returns an empty array if there
    /// is nothing.
    ///
    /// - Parameters:
    ///   - synced: The record types, as the store is opened with them.
    ///   - reader: The database after the app's migrations.
    ///   - migrate: Registers the app's migrations, as for the store. They run in a database in memory, so that columns which
    ///     a later version of the app added are checked too: rows of older apps come without them. Default: nil, and no column
    ///     counts as added.
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
