// This source file is part of the Optimist open source project, under the MIT licence.

public import Foundation
public import GRDB
import OptimistCore
public import OptimistWire

/// Something the user wrote that the server will never apply. The store keeps it until the app retries or discards it.
public struct Rejection: Identifiable, Hashable, Sendable {
    /// What the push had asked of the server.
    public enum Kind: String, Sendable {
        /// To create the row.
        case create
        /// To change the row.
        case update
        /// To delete the row.
        case delete
    }

    /// Tells the rejection from others of the same store. Later rejections have greater numbers.
    public let id: Int64
    /// The table of the row.
    public let table: String
    /// The row's lower-case UUID.
    public let rowID: String
    /// What the push had asked of the server.
    public let kind: Kind
    /// A word of the protocol, such as `invalidProperties`, `tooLarge` or `forbidden`.
    public let code: String
    /// The column at fault, if there is one: the first of ``columns``.
    public let column: String?
    /// All columns at fault. For a `uniqueViolation`, the columns whose values another row has.
    public let columns: [String]
    /// For a `uniqueViolation`, the lower-case UUID of the row that has the values, in the same table. Nil if the
    /// server did not say.
    public let conflictingRowID: String?
    /// A sentence that is safe to show. Never compare it: switch on ``code``.
    public let message: String
    /// What the user wrote, by column. Empty for a delete.
    public let mine: JSONObject
    /// What the server has, by column. Nil if the server has nothing or did not say.
    public let theirs: JSONObject?
    /// When the server's answer arrived, by the device's clock.
    public let date: Date
    /// Pending rows that were taken back with this one: rows that refer to it, rows whose deletion depended on it, and the rest
    /// of a write with `allOrNothing`. A retry writes them again too.
    public internal(set) var dependents: [Dependent] = []

    /// A row that was taken back with a refused one.
    public struct Dependent: Hashable, Sendable {
        /// The table of the row.
        public let table: String
        /// The row's lower-case UUID.
        public let rowID: String
        /// What the row's push had asked of the server.
        public let kind: Kind
        /// What the user wrote.
        public let mine: JSONObject
        /// What the server had when the row was taken back, by column. Nil if the server had nothing, as far as the device
        /// knows.
        public let theirs: JSONObject?
        /// Grows with each row that is taken back, like the ids of rejections.
        let number: Int64
    }
}

extension Rejection {
    /// Returns the rejections in a database that a store has written, oldest first. Rows that were taken back together are one
    /// rejection. The app can call it in ``Store/observe(_:)``.
    ///
    /// - Parameter db: A connection within a read or a write.
    /// - Throws: `DatabaseError`.
    public static func fetchAll(_ db: Database) throws -> [Rejection] { try RejectionTable(db).all() }
}

extension Store {
    /// Returns the rejections, oldest first. Rows that were taken back together are one rejection.
    ///
    /// - Throws: `DatabaseError`.
    public func rejections() async throws -> [Rejection] {
        try await read { try Rejection.fetchAll($0) }
    }

    /// Forgets a rejection, and with it what the user wrote.
    ///
    /// - Parameter rejection: A rejection of this store.
    /// - Throws: `OptimistError` with code `unknownRejection` if it was retried or discarded already; `DatabaseError`.
    public func discard(_ rejection: Rejection) async throws {
        let id = rejection.id
        try await write { db in
            try RejectionTable(db).remove(id)
            guard db.changesCount > 0 else { throw Self.unknown(id) }
        }
    }

    static func unknown(_ id: Rejection.ID) -> OptimistError {
        OptimistError(.unknownRejection, "There is no rejection \(id): it was retried or discarded already.")
    }
}
