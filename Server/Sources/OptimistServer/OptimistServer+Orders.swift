// This source file is part of the Optimist open source project, under the MIT licence.

package import OptimistWire

extension OptimistServer {
    /// Carries out what an operator wants done to the accounts, as `optimist account` does. Not reachable over the network.
    ///
    /// Devices whose sessions end by it hear so at once.
    ///
    /// - Returns: The result. For an invitation: `invitation` and `expiresAt`; for a reset: `token` and `expiresAt`;
    ///   for a deletion: `deleted` and `receipt`; for the others: `accounts`, `sessions`, `ended` or `receipts`. Invitations and tokens are secret.
    /// - Throws: `OptimistError` with code `account.notFound`; when the database fails.
    package func carryOut(_ order: AccountOrder) async throws -> JSON { try await registry.carryOut(order) }
}
