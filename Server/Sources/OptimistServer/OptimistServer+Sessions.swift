// This source file is part of the Optimist open source project, under the MIT licence.

/// What an operator may know of sessions, and do to them. Not reachable over the network.
extension OptimistServer {
    /// Somebody's sign-in on one device.
    public struct SessionSummary: Hashable, Sendable {
        public let id: String
        public let account: String
        /// How often its tokens were replaced by the next pair.
        public let refreshes: Int
        /// Why it is over, as the protocol says it: `revoked`, say. Nil: it is not.
        public let endReason: String?
        /// Whether the access token that it was found by is still let in.
        public let acceptsToken: Bool
    }

    /// Returns the session that an access token was made for, also when the token has expired or the session has ended.
    ///
    /// - Returns: Nil when the token is none of this server's.
    /// - Throws: When the database fails.
    public func session(accessToken: String) async throws -> SessionSummary? {
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
    public func revoke(_ session: SessionSummary) async throws {
        _ = try await registry.revoke(account: session.account, session: session.id)
    }

    /// Refuses an access token from now on, as if its time had passed, until the server is started again.
    ///
    /// Its session goes on: the device has to refresh, as it would have had to later.
    public func expire(accessToken: String) { registry.expire(accessToken: accessToken) }
}
