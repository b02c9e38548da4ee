// This source file is part of the Optimist open source project, under the MIT licence.

import GRDB
import OptimistWire

/// The engine's single values.
enum Meta {
    enum Name: String {
        case version, node, push, stampCeiling, lastSync
        /// The file's owner and other accounts: see ``FileOwner``.
        case account, owner, visitor, accountDeleted
        /// The id of the person's own account, as the destinations of moved rows name it.
        case ownAccount
        /// The installation that last synced the file.
        case install
        /// The number of the push under way, or null.
        case inFlight
        /// The number of rows in the last push while it is unanswered, or null.
        case unanswered
        /// The row limit of the page that the last run was waiting for when it ended, or null.
        case cutPage
        case pushWait, pullWait, streamWait
        /// The remote's promises: see ``RemoteGuarantees``.
        case guarantees
        /// How far the server's clock is ahead of the device's, in milliseconds.
        case clockOffset
        /// Former table and column names from the app's code, as JSON.
        case formerNames
        /// Column rules from the app's code, as JSON.
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

    /// Reads a JSON object. Empty if no store has opened the file.
    static func note(_ name: Name, in db: Database) throws -> JSONObject {
        guard try db.tableExists("optimist_meta"), let text = try string(name, in: db) else { return [:] }
        return (try? JSON(parsing: text.utf8))?.object ?? [:]
    }

    /// Writes a JSON object, unless the file has the same one.
    ///
    /// - Parameter members: The members by name. If empty, stores null.
    static func keep(_ members: [String: JSON], as name: Name, in db: Database) throws {
        let note = JSON.object(JSONObject(members.sorted { $0.key < $1.key }.map { ($0.key, $0.value) }))
        let text = members.isEmpty ? nil : note.description
        if try string(name, in: db) == text { return }
        try set(name, to: text, in: db)
    }

    static func set(_ name: Name, to value: (any DatabaseValueConvertible)?, in db: Database) throws {
        try db.cachedStatement(
            sql: "INSERT INTO optimist_meta VALUES (?, ?) ON CONFLICT(name) DO UPDATE SET value = excluded.value"
        )
        .execute(arguments: [name.rawValue, value])
    }
}
