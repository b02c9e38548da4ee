// This source file is part of the Optimist open source project, under the MIT licence.

public import Foundation
public import GRDB
import OptimistCore
public import OptimistWire

/// A user's edit that the server will never apply. The store keeps it until the app retries or discards it.
public struct Rejection: Identifiable, Hashable, Sendable {
    /// What the push asked the server to do.
    public enum Kind: String, Sendable {
        /// To create the row.
        case create
        /// To change the row.
        case update
        /// To delete the row.
        case delete
    }

    /// Identifies the rejection in its store. Later rejections have greater ids.
    public let id: Int64
    /// The table of the row.
    public let table: String
    /// The row's lower-case UUID.
    public let rowID: String
    /// What the push asked the server to do.
    public let kind: Kind
    /// A code of the protocol, such as `invalidProperties`, `tooLarge` or `forbidden`.
    public let code: String
    /// The first of ``columns``, if any.
    public let column: String?
    /// All columns at fault. For a `uniqueViolation`, the columns whose values another row already has.
    public let columns: [String]
    /// For a `uniqueViolation`, the lower-case UUID of the row that already has the values. The row is in the same
    /// table. Nil if the server did not name the row.
    public let conflictingRowID: String?
    /// A message that is safe to show. Never compare it: switch on ``code``.
    public let message: String
    /// The user's values by column. Empty for a delete.
    public let mine: JSONObject
    /// The server's values by column. Nil if the server does not have the row or did not send it.
    public let theirs: JSONObject?
    /// When the server's answer arrived, by the device's clock.
    public let date: Date
    /// Pending rows that were taken back with this row: rows that refer to it, rows whose deletion depended on it, and
    /// the rest of an `allOrNothing` write. A retry writes them again.
    public internal(set) var dependents: [Dependent] = []

    /// A row that was taken back with a refused row.
    public struct Dependent: Hashable, Sendable {
        /// The table of the row.
        public let table: String
        /// The row's lower-case UUID.
        public let rowID: String
        /// What the push asked the server to do with the row.
        public let kind: Kind
        /// The user's values by column.
        public let mine: JSONObject
        /// The server's values when the row was taken back, by column. Nil if the server did not have the row, as far
        /// as the device knew.
        public let theirs: JSONObject?
        /// The number of this row, in the same sequence as the ids of rejections.
        let number: Int64
    }
}

extension Rejection {
    /// Returns the rejections of a store's database, oldest first, each with its dependents. Can be used in
    /// ``Store/observe(_:)``.
    ///
    /// - Throws: `DatabaseError`.
    public static func fetchAll(_ db: Database) throws -> [Rejection] { try RejectionTable(db).all() }
}

extension Store {
    /// Returns the rejections, oldest first, each with its dependents.
    ///
    /// - Throws: `DatabaseError`.
    public func rejections() async throws -> [Rejection] {
        try await read { try Rejection.fetchAll($0) }
    }

    /// Forgets a rejection and the user's values in it.
    ///
    /// - Throws: `OptimistError` with code `unknownRejection` if the rejection was already retried or discarded;
    ///   `DatabaseError`.
    public func discard(_ rejection: Rejection) async throws {
        let id = rejection.id
        try await write { db in
            try RejectionTable(db).remove(id)
            guard db.changesCount > 0 else { throw Self.unknown(id) }
        }
    }

    static func unknown(_ id: Rejection.ID) -> OptimistError {
        OptimistError(.unknownRejection, "The rejection \(id) does not exist: it was already retried or discarded.")
    }
}
