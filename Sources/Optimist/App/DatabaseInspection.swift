// This source file is part of the Optimist open source project, under the MIT licence.

public import Foundation
import GRDB
import OptimistCore
import OptimistWire

/// The contents of a device's database, read without the app's code.
@_spi(Internals) public struct DatabaseInspection: Sendable {
    /// The format version of the engine's tables.
    public let version: Int
    /// The device's id in the protocol: 1 to 64 ASCII letters and digits.
    public let device: String
    /// The server and account that the file syncs with. Nil if it never connected.
    public let account: String?
    /// The number of the last push, or 0.
    public let lastPush: Int64
    /// When a push was last answered or a page last applied, by the device's clock. Nil if never.
    public let lastSync: Date?
    /// The upper bound of the stamps that the device's hybrid clock has issued. Nil if there are none.
    public let clockCeiling: Date?
    /// Each synced table with its row count, and the cursor up to which it has received everything.
    public let tables: [(name: String, rows: Int, cursor: String?)]
    /// The number of pending rows, regardless of the limit.
    public let pendingCount: Int
    /// The oldest pending rows, up to the limit.
    public let pending: [PendingRow]
    /// All rejections, oldest first.
    public let rejections: [Rejection]
    /// Received rows that the device cannot apply yet, oldest first.
    public let parked: [ParkedRow]

    /// Reads a file in read-only mode, which does not disturb a running app. If a process died while creating the file,
    /// SQLite first rolls back the partial write.
    ///
    /// - Parameters:
    ///   - url: The database file.
    ///   - limit: The maximum number of pending rows to list. Default: 100.
    /// - Throws: `OptimistError` with code `notADatabase` if the file is missing, is not a database, or was never
    ///   opened by a store; `newerVersion` if a newer version wrote it; `damagedMetadata` if the engine's tables cannot
    ///   be read. `DatabaseError` for other errors of SQLite.
    public init(of url: URL, limit: Int = 100) throws {
        let file = StoreFile(url: url)
        guard FileManager.default.fileExists(atPath: url.path) else {
            throw OptimistError(.notADatabase, "The file \(url.path) does not exist.")
        }
        try file.check(against: nil)
        self = try file.reading { db in
            guard try db.tableExists("optimist_meta") else {
                throw OptimistError(
                    .notADatabase,
                    "\(url.lastPathComponent) is a database, but no Optimist store has opened it yet.")
            }
            let version = Int(try Meta.int(.version, in: db) ?? 0)
            if version == EngineSchema.version { return try DatabaseInspection(db, version: version, limit: limit) }
            return try Self.upgraded(db).read { try DatabaseInspection($0, version: version, limit: limit) }
        }
    }

    /// Upgrades a copy of an older file, in an unnamed temporary file.
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
        let known = """
            SELECT name, cursor FROM optimist_table LEFT JOIN optimist_progress ON scope = 0 AND tbl = number
            ORDER BY number
            """
        tables = try Row.fetchAll(db, sql: known).map { row in
            let name: String = row[0]
            return (name, try db.tableExists(name) ? Table(name).fetchCount(db) : 0, row[1])
        }
        pendingCount = try Int.fetchOne(db, sql: "SELECT count(*) FROM optimist_edit") ?? 0
        pending = try PendingRow.fetchAll(db, limit: limit)
        rejections = try RejectionTable(db).all()
        parked = try ParkedRow.fetchAll(db)
    }
}
