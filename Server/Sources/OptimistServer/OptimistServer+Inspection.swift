// This source file is part of the Optimist open source project, under the MIT licence.

@_spi(Internals) import OptimistServing
@_spi(Internals) package import OptimistWire

/// What an operator may read: all of it. Not reachable over the network.
extension OptimistServer {
    /// An account.
    package struct AccountSummary: Hashable, Sendable {
        /// The account's id, as the protocol has it.
        package let id: String
        /// The email address that it was made with.
        package let email: String
    }

    /// A row as the server holds it.
    package struct InspectedRow: Sendable {
        /// The row's id, a lower-case UUID.
        package let id: String
        /// The transaction that last changed the row.
        package let seq: Int64
        /// The row's columns, with their clocks.
        package let patch: RowPatch
    }

    /// Returns the health of the app that reports it.
    package func health() async throws -> HealthSummary { HealthSummary(try await storage.health.sums(of: nil)) }

    /// Returns all accounts, by email address.
    ///
    /// - Throws: The database's error.
    package func accounts() async throws -> [AccountSummary] {
        try await registry.all().map { AccountSummary(id: $0.id, email: $0.email) }
    }

    /// Returns the living rows of one type of an account, in the order in which they last changed.
    ///
    /// - Parameters:
    ///   - account: The account's id.
    ///   - type: The present name of the type.
    ///   - limit: The most rows to return. Default: a page.
    /// - Throws: An error if there is no such account, or if the database fails.
    package func rows(account: String, type: String, limit: Int = RowSync.Limit.pageRows) async throws -> [InspectedRow]
    {
        try await storage.rows.read(account: account) { snapshot in
            let living = try snapshot.livingRows(type: type, after: nil, limit: limit, maxBytes: .max)
            return try living.rows.sorted { $0.place < $1.place }.compactMap { row in
                let patch = try JSON(parsing: row.content).object.flatMap { RowPatch(json: $0) }
                return patch.map { InspectedRow(id: row.id, seq: row.place.seq, patch: $0) }
            }
        }
    }

    /// How many connections listen for changes.
    package var listenerCount: Int { pokes.count }
}
