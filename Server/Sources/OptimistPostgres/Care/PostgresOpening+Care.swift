// This source file is part of the Optimist open source project, under the MIT licence.

package import Foundation
import OptimistCore
import OptimistServer

/// A backup of a database, or a restored one.
package struct SharedBackupReport: Sendable {
    package var accounts: Int
    /// With deleted ones.
    package var rows: Int
    /// The size of the dump, in bytes.
    package var bytes: Int
}

/// What a check of a database has found.
package struct SharedCheck: Sendable {
    /// How PostgreSQL's own files were checked.
    package enum Files: Sendable {
        case checked
        /// A sentence about what is missing.
        case notChecked(String)
    }

    /// A sentence for each problem.
    package var problems: [String]
    package var files: Files
}

/// The operator's care for the data: backup, restore and check.
extension PostgresOpening {
    /// Copies the tables as they are at one moment into a new directory, also while servers run.
    ///
    /// `pg_dump` writes the copy. It is read back before the directory gets its name: the rows that are in it are counted
    /// and compared with those of the same moment in the database.
    ///
    /// - Parameters:
    ///   - target: The directory to make. Only its owner can read it.
    ///   - begun: Gets the hidden directory in which the copy grows.
    /// - Throws: `OptimistError` with code `unreadableData` if there are no tables of ours, the target is there, the data is
    ///   not sound or the copy cannot be read back; `programMissing`; `dataInUse` if a copy into the database has not ended;
    ///   or a code that tells about the database or the disk.
    package func backUp(
        to target: URL, begun: @escaping @Sendable (URL) -> Void
    ) async throws -> SharedBackupReport {
        try await explaining {
            let connection = try connectForCare()
            let place = try BackupPlace(connection)
            let programs = try place.programs("pg_dump", database)
            return try DraftDirectory.make(target, begun: begun) { draft in
                // The snapshot stays as long as its transaction.
                try connection.transaction(.beginSnapshot) { connection in
                    try refuseUnsound(connection, "Nothing was copied: run `optimist check`.")
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

    /// Puts a backup into a database that has no tables of ours, and begins an epoch.
    ///
    /// Either all tables are there afterwards, or none. Devices then compare what they have, and send what is not in the
    /// backup.
    ///
    /// - Throws: `OptimistError` with code `unreadableData` if the backup is damaged, or the data in it is not sound;
    ///   `dataInUse` if the database has our tables; `programMissing`; or a code that tells about the database.
    package func restore(_ backup: URL) async throws -> SharedBackupReport {
        try await explaining {
            let manifest = try BackupManifest(of: backup)
            let connection = try PostgresSetup(database).connectForSetup()
            let place = try BackupPlace(connection)
            guard place.tables.isEmpty else {
                throw OptimistError(
                    .dataInUse,
                    """
                    \(database.place) has a server's tables already, and nothing in them is replaced. Name an empty database: \
                    createdb NAME.
                    """)
            }
            guard place.schema == manifest.schema else {
                throw OptimistError(
                    .databaseUnsuitable,
                    """
                    The tables of the backup are in the schema "\(manifest.schema)", and \(database.place) leads to \
                    "\(place.schema)". Name it with ?options=-csearch_path%3D\(manifest.schema).
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
                        .unreadableData, "The tables do not have the rows of the backup. Drop them, and restore again.")
                }
                try refuseUnsound(connection, "Drop the tables, and restore another backup.")
            }
            try PostgresTables.migrate(connection)
            try beginEpoch(dependencies.makeEpoch(), connection)
            return try report(manifest, dump)
        }
    }

    /// Checks whether the tables agree with each other and every row can be read, and PostgreSQL's own files with
    /// `pg_amcheck` if that is there. It changes nothing. Servers may run meanwhile.
    ///
    /// - Throws: `OptimistError` with code `unreadableData` if there are no tables of ours, or a code that tells about the
    ///   database.
    package func check() async throws -> SharedCheck {
        try await explaining {
            let connection = try connectForCare()
            let problems = try connection.transaction(.beginSnapshot) { try DataCheck.problems(inShared: $0) }
            let files = try BackupPlace(connection).checkFiles(database, connection)
            return SharedCheck(problems: files.problems + problems, files: files.files)
        }
    }

    /// Connects to a database with our tables. A transaction of the connection may wait for a program or a reader.
    ///
    /// - Throws: `OptimistError` with code `unreadableData` or `newerData` if the tables are not those of this version.
    func connectForCare() throws -> PostgresConnection {
        let connection = try PostgresSetup(database).connectForSetup()
        try PostgresTables.requirePresent(connection, in: database.place)
        try EmbeddedCopy.refuseUnfinished(connection)
        try connection.script("SET idle_in_transaction_session_timeout = 0")
        return connection
    }
}

extension DataCheck {
    /// Names the triggers and rules on the tables if there are any, and otherwise checks the tables.
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
