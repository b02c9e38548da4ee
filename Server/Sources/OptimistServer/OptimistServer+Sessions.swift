// This source file is part of the Optimist open source project, under the MIT licence.

/// The operator's access to sessions. Not reachable over the network.
extension OptimistServer {
    package struct SessionSummary: Hashable, Sendable {
        package let id: String
        package let account: String
        package let refreshes: Int
        /// In the protocol's words, such as `revoked`. Nil if the session has not ended.
        package let endReason: String?
        /// Whether the server still accepts the access token.
        package let acceptsToken: Bool
    }

    /// Returns the session of an access token, even if the token has expired or the session has ended. Nil if this
    /// server did not issue the token.
    package func session(accessToken: String) async throws -> SessionSummary? {
        guard let (record, isLetIn) = try await registry.session(accessToken: accessToken) else { return nil }
        return SessionSummary(
            id: record.id, account: record.account, refreshes: record.generation - 1, endReason: record.ended?.rawValue,
            acceptsToken: isLetIn)
    }

    /// Ends a session with the reason `revoked`, unless it has already ended. If the session's device listens, it
    /// learns of the end at once, otherwise with its next request.
    package func revoke(_ session: SessionSummary) async throws {
        _ = try await registry.revoke(account: session.account, session: session.id)
    }

    /// Treats an access token as expired until the process restarts. Its session stays valid.
    package func expire(accessToken: String) { registry.expire(accessToken: accessToken) }
}
