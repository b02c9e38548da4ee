// This source file is part of the Optimist open source project, under the MIT licence.

public import Foundation
import GRDB
import OptimistCore
public import OptimistWire

/// Something the user wrote that the server will never apply. Kept until the app retries or discards it (V2).
public struct Rejection: Identifiable, Hashable, Sendable {
    public enum Kind: String, Sendable { case create, update, delete }

    public let id: Int64
    public let table: String
    /// The row's lower-case UUID.
    public let rowID: String
    public let kind: Kind
    /// A word of the protocol, such as `invalidProperties`, `tooLarge` or `forbidden`.
    public let code: String
    /// The column at fault, if it is one.
    public let column: String?
    public let message: String
    /// What the user wrote.
    public let mine: JSONObject
    /// What the server has. Nil: nothing.
    public let server: JSONObject?
    public let at: Date
}

extension Store {
    /// Returns what was rejected, oldest first.
    public func rejections() async throws -> [Rejection] {
        try await read { db in try RejectionTable(db).all() }
    }

    /// Writes the rejected values once more, as a new write of the user's, and forgets the rejection.
    ///
    /// - Parameters:
    ///   - id: A ``Rejection/id``.
    ///   - edits: Values in place of the rejected ones, by column.
    /// - Throws: `OptimistError` with code `unknownRejection`; `DatabaseError` if the row cannot be written. The rejection
    ///   then stays.
    public func retry(_ id: Rejection.ID, with edits: JSONObject = [:]) async throws {
        try await write { db in
            let rejections = RejectionTable(db)
            guard let rejection = try rejections.all().first(where: { $0.id == id }),
                let layout = self.layout(named: rejection.table), let rowID = layout.idForm.stored(rejection.rowID)
            else { throw Self.unknown(id) }
            var values = rejection.mine
            for (column, value) in edits { values[column] = value }
            let table = AppTable(layout: layout, db: db)
            switch rejection.kind {
            case .delete: try table.make(.delete, at: rowID)
            case .create: try table.make(.put(values), at: rowID)
            case .update: try table.make(try table.values(rowID) == nil ? .put(values) : .set(values), at: rowID)
            }
            try rejections.remove(id)
        }
    }

    /// Forgets a rejection, and with it what the user wrote.
    ///
    /// - Throws: `OptimistError` with code `unknownRejection`.
    public func discard(_ id: Rejection.ID) async throws {
        try await write { db in
            try RejectionTable(db).remove(id)
            guard db.changesCount > 0 else { throw Self.unknown(id) }
        }
    }

    private static func unknown(_ id: Rejection.ID) -> OptimistError {
        OptimistError(.unknownRejection, "There is no rejection \(id): it was retried or discarded already.")
    }
}

/// Reads and writes `optimist_rejection` within one transaction.
struct RejectionTable {
    let db: Database

    init(_ db: Database) { self.db = db }

    func insert(_ ref: RowRef, _ kind: SentRow.Kind, _ refusal: Refusal, mine: JSONObject, at milliseconds: Int64)
        throws
    {
        try db.execute(
            sql: """
                INSERT INTO optimist_rejection(tbl, id, kind, code, columnName, message, mine, server, at)
                VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)
                """,
            arguments: [
                ref.table, ref.id, kind.rawValue, refusal.code, refusal.column, refusal.message,
                JSON.object(mine).description, refusal.current.map { JSON.object($0.values).description }, milliseconds,
            ])
    }

    func all() throws -> [Rejection] {
        let rows = try Row.fetchAll(
            db,
            sql: """
                SELECT r.number, t.name, r.id, kind, code, columnName, message, mine, server, at
                FROM optimist_rejection r JOIN optimist_table t ON t.number = r.tbl ORDER BY r.number
                """)
        return rows.compactMap { row in
            guard let id = UUIDForm.bytes.wire(row[2]), let kind = Rejection.Kind(rawValue: row[3]) else { return nil }
            return Rejection(
                id: row[0], table: row[1], rowID: id, kind: kind, code: row[4], column: row[5], message: row[6],
                mine: Self.object(row[7]) ?? [:], server: Self.object(row[8]),
                at: Date(timeIntervalSince1970: Double(row[9] as Int64) / 1000))
        }
    }

    func remove(_ number: Int64) throws {
        try db.execute(sql: "DELETE FROM optimist_rejection WHERE number = ?", arguments: [number])
    }

    private static func object(_ text: String?) -> JSONObject? {
        text.flatMap { try? JSON(parsing: $0.utf8) }?.object
    }
}
