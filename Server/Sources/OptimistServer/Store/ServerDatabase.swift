// This source file is part of the Optimist open source project, under the MIT licence.

import Foundation
package import GRDB
import OptimistCore

package struct ServerDatabase: Sendable {
    package let pool: DatabasePool
    /// Oldest first. If a server opened the database, the last epoch began with this start.
    package let epochs: [String]

    package var epoch: String { epochs[epochs.count - 1] }

    static let readers = 4

    /// - Parameters:
    ///   - path: The file, which is created if missing.
    ///   - epoch: The epoch to begin. Nil for uses that do not serve devices.
    /// - Throws: ``OptimistError`` with code `unreadableData` or `newerData`. The message says what to do.
    package init(path: String, epoch: String?) throws {
        try Self.refuseStrangers(path)
        var configuration = Configuration()
        configuration.busyMode = .timeout(5)
        configuration.maximumReaderCount = Self.readers
        pool = try DatabasePool(path: path, configuration: configuration)
        // GRDB sets NORMAL, which could lose an acknowledged push after a power loss.
        try pool.writeWithoutTransaction { db in
            try db.execute(sql: "PRAGMA synchronous = FULL; PRAGMA fullfsync = ON; PRAGMA wal_autocheckpoint = 4000")
            // When SQLite moved pages earlier, it left copies. These remain until a vacuum.
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

    /// Does not change the file.
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
                \(path) was written by a later version of the server (\(found.version), this server supports up to \
                \(version)). Start the later server, or choose another directory with --data. The file has not been changed.
                """, remedy: .update)
        }
        if found.version < 1, !found.isEmpty {
            throw OptimistError(
                .unreadableData,
                "\(path) is another program's database. Choose another directory with --data. The file has not been changed."
            )
        }
    }

    /// Suggests moving the file away only if it is not a sound database.
    static func problem(_ error: any Error, at path: String) -> any Error {
        switch (error as? DatabaseError)?.resultCode {
        case .SQLITE_FULL?, .SQLITE_IOERR?: error
        case .SQLITE_BUSY?, .SQLITE_LOCKED?:
            OptimistError(
                .dataInUse, "Another program has locked \(path). Stop that program, then start the server again.",
                cause: error)
        default:
            OptimistError(
                .unreadableData,
                """
                \(path) cannot be read as a database. Move it away to start with empty data, or restore a backup. \
                The file has not been changed.
                """, cause: error)
        }
    }

    /// A server that crashed before it switched a new file to WAL leaves a rollback journal. SQLite needs write access
    /// to roll it back.
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
