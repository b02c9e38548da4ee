// This source file is part of the Optimist open source project, under the MIT licence.

import Foundation
import GRDB
import OptimistCore

/// A database file, checked before it is opened for writing.
struct StoreFile {
    let url: URL
    var configuration = Configuration()

    /// Checks the file without changing it, except that SQLite rolls back a partial write of a process that died.
    ///
    /// - Parameter migrator: The app's migrations. Nil to check only the engine's tables.
    /// - Throws: `OptimistError` with code `notADatabase`, `newerVersion` or `erasingMigrator`.
    func check(against migrator: DatabaseMigrator?) throws {
        if migrator?.eraseDatabaseOnSchemaChange == true { throw erasing }
        do { try look(migrator) } catch let error as DatabaseError
            where error.extendedResultCode == .SQLITE_READONLY_ROLLBACK
        {
            // A process died while it created the file, before there was a write-ahead log.
            try DatabaseQueue(path: url.path, configuration: configuration).read { db in
                _ = try db.tableExists("optimist_meta")
            }
            try look(migrator)
        }
    }

    private var erasing: OptimistError {
        OptimistError(
            .erasingMigrator,
            "The migrator sets eraseDatabaseOnSchemaChange, which would erase \(url.lastPathComponent) and changes that "
                + "the server does not have yet. Nothing was erased. Remove the option. During development, delete and "
                + "reinstall the app.")
    }

    private func look(_ migrator: DatabaseMigrator?) throws {
        guard let size = try? FileManager.default.attributesOfItem(atPath: url.path)[.size] as? Int, size > 0 else {
            return
        }
        try reading { db in
            try checkEngine(db)
            if let migrator { try checkApp(db, migrator) }
        }
    }

    func reading<T>(_ value: (Database) throws -> T) throws -> T {
        do {
            var configuration = configuration
            configuration.readonly = true
            configuration.busyMode = .timeout(5)
            return try DatabaseQueue(path: url.path, configuration: configuration).read(value)
        } catch let error as DatabaseError where error.resultCode == .SQLITE_NOTADB {
            throw OptimistError(
                .notADatabase,
                "\(url.lastPathComponent) is not a database, or is encrypted with another key. It was not "
                    + "changed. Move it away, or open another file.",
                cause: error)
        }
    }

    /// The error for a file that SQLite cannot open. Usually the folder is missing.
    func sentence(onNotOpening error: DatabaseError) -> any Error {
        let folder = url.deletingLastPathComponent().path
        if FileManager.default.fileExists(atPath: folder) { return error }
        return OptimistError(
            .noFolder,
            "The folder \(folder) for the database \(url.lastPathComponent) does not exist. Create it first.",
            cause: error)
    }

    private func checkEngine(_ db: Database) throws {
        guard try db.tableExists("optimist_meta"), let version = try Meta.int(.version, in: db),
            version > EngineSchema.version
        else { return }
        throw OptimistError(
            .newerVersion,
            "\(url.lastPathComponent) was written by a newer version of Optimist (format \(version), this app supports "
                + "up to \(EngineSchema.version)). It was not changed. Update the app.",
            remedy: .update)
    }

    private func checkApp(_ db: Database, _ migrator: DatabaseMigrator) throws {
        guard try migrator.hasBeenSuperseded(db) else { return }
        throw OptimistError(
            .newerVersion,
            "\(url.lastPathComponent) was written by a newer version of the app. It was not changed. Update the app.",
            remedy: .update)
    }
}
