// This source file is part of the Optimist open source project, under the MIT licence.

public import Foundation
import GRDB
import OptimistCore
import OptimistWire

/// The contents of a device's database, read without changing it and without the app's code.
@_spi(Internals) public struct DatabaseInspection: Sendable {
    /// The version of the engine's tables.
    public let version: Int
    /// The id of the device in the protocol: 1 to 64 ASCII letters and digits.
    public let device: String
    /// The server and the account that the file syncs with. Nil if it never connected to one.
    public let account: String?
    /// The number of the last push. Zero if there was none.
    public let lastPush: Int64
    /// When a push was last answered or a page last applied, by the device's clock. Nil: never.
    public let lastSync: Date?
    /// The latest time that the device's hybrid clock may have given to a write. Nil: it gave none.
    public let clockCeiling: Date?
    /// Each synced table with its number of rows and the state up to which it has received everything.
    public let tables: [(name: String, rows: Int, cursor: String?)]
    /// The number of pending rows, including those beyond the limit of ``pending``.
    public let pendingCount: Int
    /// The oldest pending rows, as many as the limit allows.
    public let pending: [PendingRow]
    /// All rejections, oldest first.
    public let rejections: [Rejection]
    /// The rows that the device received and cannot apply yet, oldest first.
    public let parked: [ParkedRow]

    /// Reads a file. The file is opened for reading only, so that a running app is not disturbed. If a process died while it
    /// created the file, SQLite first rolls back what the process left half written.
    ///
    /// - Parameters:
    ///   - url: The database file.
    ///   - limit: The most pending rows to list. Default: 100.
    /// - Throws: `OptimistError` with code `notADatabase` if the file is missing, is not a database, or was never written by a
    ///   store; `newerVersion` if a newer version wrote it; `damagedMetadata` if the engine's tables cannot be read.
    ///   `DatabaseError` for an error of SQLite.
    public init(of url: URL, limit: Int = 100) throws {
        let file = StoreFile(url: url)
        guard FileManager.default.fileExists(atPath: url.path) else {
            throw OptimistError(.notADatabase, "There is no file \(url.path).")
        }
        try file.check(against: nil)
        self = try file.reading { db in
            guard try db.tableExists("optimist_meta") else {
                throw OptimistError(
                    .notADatabase,
                    "\(url.lastPathComponent) is a database, but no store of Optimist's has written it yet.")
            }
            let version = Int(try Meta.int(.version, in: db) ?? 0)
            if version == EngineSchema.version { return try DatabaseInspection(db, version: version, limit: limit) }
            return try Self.upgraded(db).read { try DatabaseInspection($0, version: version, limit: limit) }
        }
    }

    /// Returns a copy of a file of an earlier version, upgraded to the present one, in an unnamed temporary file.
    private static func upgraded(_ db: Database) throws -> DatabaseQueue {
        let copy = try DatabaseQueue(path: "")
        try copy.writeWithoutTransaction { copy in
            try db.backup(to: copy)
            try CaptureTriggers.removeAll(in: copy)
            try EngineSchema.migrate(copy)
        }
        return copy
    }

    private init(_ db: Database, version: Int, limit: Int) throws {
        self.version = version
        device = try DeviceIdentity.current(in: db)
        account = try Meta.string(.account, in: db)
        lastPush = try Meta.int(.push, in: db) ?? 0
        lastSync = try Meta.int(.lastSync, in: db).map { Date(timeIntervalSince1970: Double($0) / 1000) }
        clockCeiling = try Meta.int(.stampCeiling, in: db).map { Date(Stamp(rawValue: $0)) }
        tables = try Row.fetchAll(db, sql: "SELECT name, cursor FROM optimist_table ORDER BY number").map { row in
            let name: String = row[0]
            return (name, try db.tableExists(name) ? Table(name).fetchCount(db) : 0, row[1])
        }
        pendingCount = try Int.fetchOne(db, sql: "SELECT count(*) FROM optimist_edit") ?? 0
        pending = try PendingRow.fetchAll(db, limit: limit)
        rejections = try RejectionTable(db).all()
        parked = try ParkedRow.fetchAll(db)
    }
}
