// This source file is part of the Optimist open source project, under the MIT licence.

import GRDB
import OptimistWire

/// Single values of the engine.
enum Meta {
    enum Name: String {
        case version, node, push, stampCeiling, lastSync
        /// Whose file this is, and which other account is signed in: see ``FileOwner``.
        case account, owner, visitor, accountDeleted
        /// The installation that the file was last synced from.
        case install
        /// The number of the push that is on its way, or null.
        case inFlight
        /// How many rows the last push had, if the server has not answered it, or null.
        case unanswered
        /// How many rows the page was to have at most that the last run was waiting for at its end, or null.
        case cutPage
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

    /// Reads a note that a store kept as JSON: an object. Empty for a file that no store has opened.
    static func note(_ name: Name, in db: Database) throws -> JSONObject {
        guard try db.tableExists("optimist_meta"), let text = try string(name, in: db) else { return [:] }
        return (try? JSON(parsing: text.utf8))?.object ?? [:]
    }

    /// Writes a note, unless the file already has the same one.
    ///
    /// - Parameter members: The note's members by name. None: the note is empty.
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
