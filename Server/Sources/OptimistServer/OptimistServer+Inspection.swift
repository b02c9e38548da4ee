// This source file is part of the Optimist open source project, under the MIT licence.

@_spi(Internals) import OptimistServing
@_spi(Internals) package import OptimistWire

/// The operator's read access. Not reachable over the network.
extension OptimistServer {
    package struct AccountSummary: Hashable, Sendable {
        package let id: String
        package let email: String
    }

    package struct InspectedRow: Sendable {
        package let id: String
        /// The transaction that last changed the row.
        package let seq: Int64
        /// The columns with their clocks.
        package let patch: RowPatch
    }

    package func health() async throws -> HealthSummary { HealthSummary(try await storage.health.sums(of: nil)) }

    package func accounts() async throws -> [AccountSummary] {
        try await registry.all().map { AccountSummary(id: $0.id, email: $0.email) }
    }

    /// Returns living rows, ordered by their last change.
    ///
    /// - Parameters:
    ///   - account: The account's id.
    ///   - type: The current name of the type.
    ///   - limit: The most rows to return. Default: one page.
    /// - Throws: `StoreError.noAccount`, or an error of the database.
    package func rows(account: String, type: String, limit: Int = RowSync.Limit.pageRows) async throws -> [InspectedRow]
    {
        try await storage.rows.read(account: account, as: .operator) { snapshot in
            let living = try snapshot.livingRows(type: type, after: nil, limit: limit, maxBytes: .max)
            return try living.rows.sorted { $0.place < $1.place }.compactMap { row in
                let patch = try JSON(parsing: row.content).object.flatMap { RowPatch(json: $0) }
                return patch.map { InspectedRow(id: row.id, seq: row.place.seq, patch: $0) }
            }
        }
    }

    package var listenerCount: Int { pokes.count }
}
