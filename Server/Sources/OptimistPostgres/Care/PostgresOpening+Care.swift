// This source file is part of the Optimist open source project, under the MIT licence.

package import Foundation
import OptimistCore
import OptimistServer

package struct SharedBackupReport: Sendable {
    package var accounts: Int
    /// Includes deleted rows.
    package var rows: Int
    package var bytes: Int
}

package struct SharedCheck: Sendable {
    package enum Files: Sendable {
        case checked
        /// The text explains how to make the check possible.
        case notChecked(String)
    }

    package var problems: [String]
    package var files: Files
}

extension PostgresOpening {
    /// Backs up the tables, as they are at one moment, to a new directory. Servers may keep running.
    ///
    /// Before the directory gets its final name, the backup is read back, and its row counts are compared with the
    /// snapshot's.
    ///
    /// - Parameters:
    ///   - target: The directory to make. Only its owner can read it.
    ///   - begun: Receives the hidden directory of the unfinished backup.
    /// - Throws: `OptimistError` with code `unreadableData` if the database does not have Optimist's tables, the target
    ///   exists, the data is not sound or the backup cannot be read back; `programMissing`; `dataInUse` if a copy into
    ///   the database has not finished; or a code for trouble with the database or the disk.
    package func backUp(
        to target: URL, begun: @escaping @Sendable (URL) -> Void
    ) async throws -> SharedBackupReport {
        try await explaining {
            let connection = try connectForCare()
            let place = try BackupPlace(connection)
            let programs = try place.programs("pg_dump", database)
            return try DraftDirectory.make(target, begun: begun) { draft in
                // The snapshot lasts as long as its transaction.
                try connection.transaction(.beginSnapshot) { connection in
                    try refuseUnsound(connection, "Nothing was copied. Run `optimist check`.")
                    let dump = draft.appending(path: BackupManifest.dump)
                    let snapshot = try connection.query(CareStatement.exportSnapshot).text(0, 0)
                    try place.dump(to: dump, of: snapshot, programs)
                    let manifest = BackupManifest(
                        schema: place.schema, tables: try place.counts(connection),
                        sha256: try BackupManifest.digest(of: dump))
                    try place.readBack(dump, manifest, programs)
                    try DurableFile.create(draft.appending(path: BackupManifest.file), manifest.bytes)
                    return try report(manifest, dump)
                }
            }
        }
    }

    /// Restores a backup into a database without Optimist's tables, and begins an epoch.
    ///
    /// Afterwards, either all tables exist or none. Devices then compare their rows with the server, and send rows that
    /// the backup does not have.
    ///
    /// - Throws: `OptimistError` with code `unreadableData` if the backup is damaged or its data is not sound;
    ///   `dataInUse` if the database already has Optimist's tables; `programMissing`; or a code for trouble with the
    ///   database.
    package func restore(_ backup: URL) async throws -> SharedBackupReport {
        try await explaining {
            let manifest = try BackupManifest(of: backup)
            let connection = try PostgresSetup(database).connectForSetup()
            let place = try BackupPlace(connection)
            guard place.tables.isEmpty else {
                throw OptimistError(
                    .dataInUse,
                    """
                    \(database.place) already has a server's tables, which are never replaced. Name an empty database: \
                    createdb NAME.
                    """)
            }
            guard place.schema == manifest.schema else {
                throw OptimistError(
                    .databaseUnsuitable,
                    """
                    The tables of the backup are in the schema "\(manifest.schema)", but \(database.place) uses \
                    "\(place.schema)". Select it with ?options=-csearch_path%3D\(manifest.schema).
                    """)
            }
            let dump = backup.appending(path: BackupManifest.dump)
            let ended = try place.programs("pg_restore", database).connect(
                "pg_restore",
                ["--single-transaction", "--exit-on-error", "--no-owner", "--no-privileges", dump.path])
            guard ended.status == 0 else { throw ended.failure(of: "pg_restore", "Nothing was restored.") }
            try connection.transaction(.beginSnapshot) { connection in
                guard try BackupPlace(connection).counts(connection) == manifest.tables else {
                    throw OptimistError(
                        .unreadableData, "The tables do not have all rows of the backup. Drop them, and restore again.")
                }
                try refuseUnsound(connection, "Drop the tables, and restore another backup.")
            }
            try PostgresTables.migrate(connection)
            try beginEpoch(dependencies.makeEpoch(), connection)
            return try report(manifest, dump)
        }
    }

    /// Checks that the tables are consistent and every row can be read, and PostgreSQL's own files if `pg_amcheck` is
    /// available. Changes nothing. Servers may keep running.
    ///
    /// - Throws: `OptimistError` with code `unreadableData` if the database does not have Optimist's tables, or a code
    ///   for trouble with the database.
    package func check() async throws -> SharedCheck {
        try await explaining {
            let connection = try connectForCare()
            let problems = try connection.transaction(.beginSnapshot) { try DataCheck.problems(inShared: $0) }
            let files = try BackupPlace(connection).checkFiles(database, connection)
            return SharedCheck(problems: files.problems + problems, files: files.files)
        }
    }

    /// Connects to a database with Optimist's tables. Its transactions do not time out while they wait for a program or
    /// a reader.
    ///
    /// - Throws: `OptimistError` with code `unreadableData` or `newerData` if the tables are missing or have another
    ///   version.
    func connectForCare() throws -> PostgresConnection {
        let connection = try PostgresSetup(database).connectForSetup()
        try PostgresTables.requirePresent(connection, in: database.place)
        try EmbeddedCopy.refuseUnfinished(connection)
        try connection.script("SET idle_in_transaction_session_timeout = 0")
        return connection
    }
}

extension DataCheck {
    fileprivate static func problems(inShared connection: PostgresConnection) throws -> [String] {
        let actors = try connection.query(CareStatement.actors)
        if actors.count > 0 { return (0..<actors.count).map { foreign(actors.text($0, 0), actors.text($0, 1)) } }
        return try problems(in: SharedData(connection))
    }
}

private func refuseUnsound(_ connection: PostgresConnection, _ advice: String) throws {
    let problems = try DataCheck.problems(inShared: connection)
    if problems.isEmpty { return }
    throw OptimistError(
        .unreadableData, "The data is not sound: \(problems.prefix(3).joined(separator: " ")) \(advice)")
}

private func report(_ manifest: BackupManifest, _ dump: URL) throws -> SharedBackupReport {
    SharedBackupReport(
        accounts: manifest.tables["optimist_accounts"] ?? 0, rows: manifest.tables["optimist_rows"] ?? 0,
        bytes: try dump.resourceValues(forKeys: [.fileSizeKey]).fileSize ?? 0)
}
