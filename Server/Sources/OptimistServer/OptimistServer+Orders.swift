// This source file is part of the Optimist open source project, under the MIT licence.

package import OptimistWire

extension OptimistServer {
    /// Carries out an operator's order. Not reachable over the network. If the order ends sessions, their connected
    /// devices are notified at once.
    ///
    /// - Returns: For an invitation: `invitation` and `expiresAt`; for a reset: `token` and `expiresAt`; for a
    ///   deletion: `deleted` and `receipt`; otherwise `accounts`, `sessions`, `ended` or `receipts`. Invitations and
    ///   tokens are secret.
    /// - Throws: `OptimistError` with code `account.notFound`, or an error of the database.
    package func carryOut(_ order: AccountOrder) async throws -> JSON { try await registry.carryOut(order) }
}
