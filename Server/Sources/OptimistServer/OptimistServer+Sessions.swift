// This source file is part of the Optimist open source project, under the MIT licence.

/// The operator's access to sessions. Not reachable over the network.
extension OptimistServer {
    /// The session of one device.
    package struct SessionSummary: Hashable, Sendable {
        package let id: String
        package let account: String
        /// How often the device has refreshed its tokens.
        package let refreshes: Int
        /// The protocol's reason for the end of the session, such as `revoked`. Nil if it has not ended.
        package let endReason: String?
        /// Whether the server still accepts the access token that the session was looked up by.
        package let acceptsToken: Bool
    }

    /// Returns the session of an access token, even if the token has expired or the session has ended.
    ///
    /// - Returns: Nil if this server did not issue the token.
    /// - Throws: An error of the database.
    package func session(accessToken: String) async throws -> SessionSummary? {
        guard let (record, isLetIn) = try await registry.session(accessToken: accessToken) else { return nil }
        return SessionSummary(
            id: record.id, account: record.account, refreshes: record.generation - 1, endReason: record.ended?.rawValue,
            acceptsToken: isLetIn)
    }

    /// Ends a session with the reason `revoked`. Its device learns of it at once if it listens, otherwise with its next
    /// request. If the session has already ended, this does nothing.
    ///
    /// - Throws: An error of the database; the session then has not ended.
    package func revoke(_ session: SessionSummary) async throws {
        _ = try await registry.revoke(account: session.account, session: session.id)
    }

    /// Makes the server treat an access token as expired until the process restarts. Its session stays valid: the
    /// device refreshes earlier than it otherwise would.
    package func expire(accessToken: String) { registry.expire(accessToken: accessToken) }
}
