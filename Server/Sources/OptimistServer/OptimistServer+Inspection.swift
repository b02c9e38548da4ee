// This source file is part of the Optimist open source project, under the MIT licence.

import OptimistServing
public import OptimistWire

/// What an operator may read: all of it. Not reachable over the network.
extension OptimistServer {
    /// Somebody who has signed up.
    public struct AccountSummary: Hashable, Sendable {
        public let id: String
        public let email: String
    }

    /// A row as the server holds it.
    public struct InspectedRow: Sendable {
        public let id: String
        /// The transaction that changed it last.
        public let seq: Int64
        /// Its columns, with their clocks.
        public let patch: RowPatch
    }

    /// Everybody who has signed up, by email address.
    public func accounts() async throws -> [AccountSummary] {
        try await registry.all().map { AccountSummary(id: $0.id, email: $0.email) }
    }

    /// The living rows of one type of an account, in the order in which they last changed.
    ///
    /// - Parameter limit: The most rows to return. Default: a page.
    /// - Throws: When there is no such account, or the database fails.
    public func rows(account: String, type: String, limit: Int = RowSync.Limit.pageRows) async throws -> [InspectedRow]
    {
        try await store.read(account: account) { snapshot in
            let living = try snapshot.livingRows(type: type, after: nil, limit: limit, maxBytes: .max)
            return try living.rows.sorted { $0.place < $1.place }.compactMap { row in
                let patch = try JSON(parsing: row.content).object.flatMap { RowPatch(json: $0) }
                return patch.map { InspectedRow(id: row.id, seq: row.place.seq, patch: $0) }
            }
        }
    }

    /// How many connections listen for changes.
    public var listenerCount: Int { pokes.count }
}
