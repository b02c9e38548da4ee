// This source file is part of the Optimist open source project, under the MIT licence.

@_spi(Internals) import OptimistServing
@_spi(Internals) package import OptimistWire

/// The operator's read access to all data. Not reachable over the network.
extension OptimistServer {
    /// An account.
    package struct AccountSummary: Hashable, Sendable {
        package let id: String
        /// The email address of the account.
        package let email: String
    }

    /// A stored row.
    package struct InspectedRow: Sendable {
        /// The row's id, a lower-case UUID.
        package let id: String
        /// The sequence number of the transaction that last changed the row.
        package let seq: Int64
        /// The row's columns with their clocks.
        package let patch: RowPatch
    }

    /// Returns the app's health, summed over the reports of its installations.
    package func health() async throws -> HealthSummary { HealthSummary(try await storage.health.sums(of: nil)) }

    /// Returns all accounts, by email address.
    ///
    /// - Throws: The database's error.
    package func accounts() async throws -> [AccountSummary] {
        try await registry.all().map { AccountSummary(id: $0.id, email: $0.email) }
    }

    /// Returns the living rows of one type of an account, ordered by their last change.
    ///
    /// - Parameters:
    ///   - account: The account's id.
    ///   - type: The current name of the type.
    ///   - limit: The most rows to return. Default: one page.
    /// - Throws: An error if the account does not exist or the database fails.
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

    /// The number of connections that listen for changes.
    package var listenerCount: Int { pokes.count }
}
