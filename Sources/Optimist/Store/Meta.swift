// This source file is part of the Optimist open source project, under the MIT licence.

import GRDB

/// Single values of the engine.
enum Meta {
    enum Name: String {
        case version, node, push, stampCeiling, lastSync
        /// Whose file this is, and which other account is signed in: see ``FileOwner``.
        case account, owner, visitor
        /// The installation that the file was last synced from.
        case install
        /// The number of the push that is on its way, or null.
        case inFlight
        case pushWait, pullWait, streamWait
        /// What the remote promises: see ``RemoteGuarantees``.
        case guarantees
        /// How far the server's clock is ahead of this device's, in milliseconds.
        case clockOffset
        /// The lives of the remote's database, oldest first.
        case epochs
        /// The remote's transaction up to which deleted rows are forgotten next, and when it was noted, by the remote's time.
        case deletedSeq, deletedSeqAt
        /// The earlier names of tables and columns that the app's code gives, as JSON.
        case formerNames
        /// The rules for columns' values that the app's code gives, as JSON.
        case columnRules
    }

    static func int(_ name: Name, in db: Database) throws -> Int64? {
        try Int64.fetchOne(
            db.cachedStatement(sql: "SELECT value FROM optimist_meta WHERE name = ?"), arguments: [name.rawValue])
    }

    static func string(_ name: Name, in db: Database) throws -> String? {
        try String.fetchOne(
            db.cachedStatement(sql: "SELECT value FROM optimist_meta WHERE name = ?"), arguments: [name.rawValue])
    }

    static func set(_ name: Name, to value: (any DatabaseValueConvertible)?, in db: Database) throws {
        try db.cachedStatement(
            sql: "INSERT INTO optimist_meta VALUES (?, ?) ON CONFLICT(name) DO UPDATE SET value = excluded.value"
        )
        .execute(arguments: [name.rawValue, value])
    }
}
