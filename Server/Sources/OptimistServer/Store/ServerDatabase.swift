// This source file is part of the Optimist open source project, under the MIT licence.

import Foundation
package import GRDB
import OptimistCore

/// Opens the embedded server's file: its settings, its tables, and the epoch that begins with this start.
package struct ServerDatabase: Sendable {
    package let pool: DatabasePool
    /// Every epoch of the database, oldest first. The last one began with this start, if a server's start it is.
    package let epochs: [String]

    package var epoch: String { epochs[epochs.count - 1] }

    /// How many connections read.
    static let readers = 4

    /// - Parameters:
    ///   - path: Where the file is. It is made if there is none.
    ///   - epoch: The name of the epoch that begins. Nil: none does, and no device's rows are served.
    /// - Throws: ``OptimistError`` that says what to do: `unreadableData` or `newerData`.
    package init(path: String, epoch: String?) throws {
        try Self.refuseStrangers(path)
        var configuration = Configuration()
        configuration.busyMode = .timeout(5)
        configuration.maximumReaderCount = Self.readers
        pool = try DatabasePool(path: path, configuration: configuration)
        // GRDB sets NORMAL after `prepareDatabase`: an answered push would not survive a power loss.
        try pool.writeWithoutTransaction { db in
            try db.execute(sql: "PRAGMA synchronous = FULL; PRAGMA fullfsync = ON; PRAGMA wal_autocheckpoint = 4000")
            // Deleted content is overwritten. What SQLite moved about before is in the file until it is rewritten.
            try db.execute(sql: "PRAGMA secure_delete = ON")
            guard try Int.fetchOne(db, sql: "PRAGMA synchronous") == 2 else {
                throw OptimistError(.unreadableData, "SQLite does not make commits durable on this system.")
            }
        }
        epochs = try pool.write { db in
            try Self.migrate(db)
            if let epoch {
                try db.execute(sql: "INSERT INTO optimist_epochs (name) VALUES (?)", arguments: [epoch])
            }
            return try String.fetchAll(db, sql: "SELECT name FROM optimist_epochs ORDER BY number")
        }
    }

    /// Looks at a file without changing it.
    ///
    /// - Throws: `OptimistError` with code `newerData`, `unreadableData` or `dataInUse`.
    static func refuseStrangers(_ path: String) throws {
        guard FileManager.default.fileExists(atPath: path) else { return }
        let found: (version: Int, isEmpty: Bool)
        do { found = try look(path) } catch { throw problem(error, at: path) }
        if found.version > version {
            throw OptimistError(
                .newerData,
                """
                \(path) was written by a later version of the server (\(found.version), this one knows \(version)). \
                Start the later version, or choose another directory with --data. The file has not been changed.
                """, remedy: .update)
        }
        if found.version < 1, !found.isEmpty {
            throw OptimistError(
                .unreadableData,
                "\(path) is another program's database. Choose another directory with --data. It has not been changed.")
        }
    }

    /// What to tell of a file that could not be looked at. Only of one that is no sound database: to move it away.
    static func problem(_ error: any Error, at path: String) -> any Error {
        switch (error as? DatabaseError)?.resultCode {
        case .SQLITE_FULL?, .SQLITE_IOERR?: error
        case .SQLITE_BUSY?, .SQLITE_LOCKED?:
            OptimistError(
                .dataInUse, "Another program has \(path) locked. End it, then start the server again.", cause: error)
        default:
            OptimistError(
                .unreadableData,
                """
                \(path) cannot be read as a database. Move it away to start empty, or put a backup in its place. \
                It has not been changed.
                """, cause: error)
        }
    }

    /// A server that died while it made the file, before that had a WAL, has left something half written. To take it back,
    /// SQLite must be able to write.
    private static func look(_ path: String) throws -> (version: Int, isEmpty: Bool) {
        do { return try look(path, isReadOnly: true) } catch let error as DatabaseError
            where error.extendedResultCode == .SQLITE_READONLY_ROLLBACK
        {
            return try look(path, isReadOnly: false)
        }
    }

    private static func look(_ path: String, isReadOnly: Bool) throws -> (version: Int, isEmpty: Bool) {
        try queue(path, isReadOnly: isReadOnly).read { db in
            (
                try Int.fetchOne(db, sql: "PRAGMA user_version") ?? 0,
                try Int.fetchOne(db, sql: "SELECT count(*) FROM sqlite_master") == 0
            )
        }
    }
}
