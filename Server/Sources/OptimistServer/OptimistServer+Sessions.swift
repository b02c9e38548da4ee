// This source file is part of the Optimist open source project, under the MIT licence.

/// What an operator may know of sessions, and do to them. Not reachable over the network.
extension OptimistServer {
    /// The sign-in of one device.
    package struct SessionSummary: Hashable, Sendable {
        /// The session's id.
        package let id: String
        /// The account's id.
        package let account: String
        /// How often the device exchanged its tokens for the next pair.
        package let refreshes: Int
        /// Why the session ended, in the protocol's words, such as `revoked`. Nil: it has not ended.
        package let endReason: String?
        /// Whether the server still accepts the access token that it was found by.
        package let acceptsToken: Bool
    }

    /// Returns the session that an access token was made for, also when the token has expired or the session has ended.
    ///
    /// - Returns: Nil when the token is none of this server's.
    /// - Throws: When the database fails.
    package func session(accessToken: String) async throws -> SessionSummary? {
        guard let (record, isLetIn) = try await registry.session(accessToken: accessToken) else { return nil }
        return SessionSummary(
            id: record.id, account: record.account, refreshes: record.generation - 1, endReason: record.ended?.rawValue,
            acceptsToken: isLetIn)
    }

    /// Ends a session with the reason `revoked`: its device is told at once if it listens, and else at its next request.
    ///
    /// A session that has ended already stays as it is.
    ///
    /// - Throws: When the database fails; then nothing has ended.
    package func revoke(_ session: SessionSummary) async throws {
        _ = try await registry.revoke(account: session.account, session: session.id)
    }

    /// Refuses an access token from now on, as if its time had passed, until the server is started again.
    ///
    /// Its session goes on: the device has to refresh, as it would have had to later.
    package func expire(accessToken: String) { registry.expire(accessToken: accessToken) }
}
