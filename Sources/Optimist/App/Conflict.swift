// This source file is part of the Optimist open source project, under the MIT licence.

public import Foundation
public import GRDB
import OptimistCore
public import OptimistWire

/// A user's edit that lost to a later edit of another device, or to a deletion.
///
/// The server may already have accepted the edit, but the other device had not seen it. If the other device had seen
/// the edit, or wrote an equal value, there is no conflict.
///
/// The store keeps the last 1,000 conflicts until the app restores or forgets them.
public struct Conflict: Identifiable, Hashable, Sendable {
    /// Why the edit lost.
    public enum Reason: String, Sendable {
        /// A later value from another device replaced the user's.
        case overwritten
        /// The row was deleted. It may have been recreated later.
        case deleted
    }

    /// Identifies the conflict in its store. Later conflicts have greater ids.
    public let id: Int64
    /// The table of the row.
    public let table: String
    /// The row's lower-case UUID.
    public let rowID: String
    /// Why the edit lost.
    public let reason: Reason
    /// The user's values by column. For a counter, the amount added: `{"@add": 2}`.
    public let mine: JSONObject
    /// The values that replaced ``mine``, by column. Nil if the row was gone.
    public let theirs: JSONObject?
    /// When this device learned of the loss, by its clock.
    public let date: Date

    /// Returns the conflicts of a store's database, oldest first. Can be used in ``Store/observe(_:)``.
    ///
    /// - Throws: `DatabaseError`.
    public static func fetchAll(_ db: Database) throws -> [Conflict] {
        try Row.fetchAll(
            db,
            sql: """
                SELECT j.number, t.name, j.id, j.reason, j.mine, j.theirs, j.at
                FROM optimist_journal j JOIN optimist_table t ON t.number = j.tbl ORDER BY j.number
                """
        ).compactMap { row in
            guard let id = UUIDForm.bytes.wire(row[2]), let reason = Reason(rawValue: row[3]) else { return nil }
            return Conflict(
                id: row[0], table: row[1], rowID: id, reason: reason, mine: object(row[4]) ?? [:],
                theirs: object(row[5]), date: Date(timeIntervalSince1970: Double(row[6] as Int64) / 1000))
        }
    }

    fileprivate static func object(_ text: String?) -> JSONObject? {
        text.flatMap { try? JSON(parsing: $0.utf8) }?.object
    }
}

extension Store {
    /// Returns the user's edits that lost, oldest first.
    ///
    /// - Throws: `DatabaseError`.
    public func conflicts() async throws -> [Conflict] { try await read { try Conflict.fetchAll($0) } }

    /// Writes a losing edit again, as a new user edit, and forgets the conflict.
    ///
    /// If the row is gone, it is recreated with all its values. Otherwise only the edited columns are written.
    ///
    /// - Throws: `OptimistError` with code `unknownConflict` if the store no longer has the conflict; `DatabaseError`
    ///   if the row cannot be written, for example because a row that it refers to is gone; otherwise as
    ///   ``Store/write(allOrNothing:_:)``. After an error, the conflict stays.
    public func restore(_ conflict: Conflict) async throws {
        let id = conflict.id
        try await write { db in
            let sql = "SELECT tbl, id, mine, whole FROM optimist_journal WHERE number = ?"
            guard let row = try Row.fetchOne(db, sql: sql, arguments: [id]),
                let layout = self.layouts.first(where: { $0.number == row[0] }), let mine = Conflict.object(row[2])
            else { throw Self.unknownConflict(id) }
            let table = AppTable(layout: layout, db: db)
            if try table.values(row[1]) != nil {
                try table.set(mine, at: row[1])
            } else {
                try table.put(Conflict.object(row[3]) ?? mine, at: row[1])
            }
            try Self.remove(id, in: db)
        }
    }

    /// Forgets a conflict and the user's values in it.
    ///
    /// - Throws: `OptimistError` with code `unknownConflict` if the store no longer has the conflict; `DatabaseError`.
    public func forget(_ conflict: Conflict) async throws {
        let id = conflict.id
        try await write { db in
            try Self.remove(id, in: db)
            guard db.changesCount > 0 else { throw Self.unknownConflict(id) }
        }
    }

    private static func remove(_ id: Conflict.ID, in db: Database) throws {
        try db.execute(sql: "DELETE FROM optimist_journal WHERE number = ?", arguments: [id])
    }

    private static func unknownConflict(_ id: Conflict.ID) -> OptimistError {
        OptimistError(
            .unknownConflict,
            "The conflict \(id) does not exist: it was already restored or forgotten, or later conflicts displaced it.")
    }
}
