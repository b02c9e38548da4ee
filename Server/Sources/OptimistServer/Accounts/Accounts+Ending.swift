// This source file is part of the Optimist open source project, under the MIT licence.

import Foundation
import OptimistWire

extension Accounts {
    func refresh(_ text: String, from caller: Caller? = nil) async throws -> JSON {
        guard let token = RefreshToken(text) else { throw AuthRefusal.invalidGrant("This is not a refresh token.") }
        let (key, seconds, lifetime) = (keys.refresh, time, settings.refreshLifetimeSeconds)
        let change = try await store.change(account: token.account, session: token.session) {
            record -> (isGranted: Bool, hasEnded: Bool)? in
            guard token.isGenuine(for: record, key: key) else { return nil }
            let wasOver = record.ended != nil
            let isGranted = record.refresh(presenting: token.number, now: seconds, lifetime: lifetime)
            return (isGranted, record.ended != nil && !wasOver)
        }
        guard let (record, verdict) = change, let verdict else {
            // The token can no longer be verified, so the answer only reveals whether the account was deleted.
            let isDeleted = try await store.isDeleted(account: token.account)
            throw AuthRefusal.invalidGrant(
                "This server did not issue this refresh token.", isDeleted ? .accountDeleted : nil)
        }
        if verdict.isGranted { return try await grant(record) }
        if verdict.hasEnded, let end = record.ended { announce(record.account, record.id, end, caller) }
        throw AuthRefusal.invalidGrant("The session has ended.", record.ended)
    }

    /// Forgets sessions that were not used for twice their lifetime. Devices can then no longer learn why they ended.
    func forgetSessions() async throws {
        try await store.forgetSessions(refreshedBefore: time - 2 * settings.refreshLifetimeSeconds)
        try await store.forgetTokens(endedBefore: time)
        try await store.forgetSpentTokens(endedBefore: time)
    }

    /// An unknown token is not an error.
    ///
    /// > Source: RFC 7009.
    func revoke(_ text: String, from caller: Caller? = nil) async throws {
        if let token = RefreshToken(text) {
            let key = keys.refresh
            try await end(account: token.account, session: token.session, caller) { token.isGenuine(for: $0, key: key) }
        } else if let claims = access.claims(of: text, now: now()) {
            try await end(account: claims.sub, session: claims.sid, caller) { _ in true }
        }
    }

    /// - Returns: Whether the session exists and `isMeant` accepts it. It may have ended before.
    @discardableResult
    private func end(
        account: String, session: String, _ caller: Caller?,
        if isMeant: @escaping @Sendable (SessionRecord) -> Bool
    ) async throws -> Bool {
        let change = try await store.change(account: account, session: session) { record -> Bool? in
            guard isMeant(record) else { return nil }
            guard record.ended == nil else { return false }
            record.ended = .revoked
            return true
        }
        if change?.value == true { announce(account, session, .revoked, caller) }
        return change?.value != nil
    }

    /// - Returns: False if the account does not have this session.
    @discardableResult
    func revoke(account: String, session: String, by caller: Caller? = nil) async throws -> Bool {
        try await end(account: account, session: session, caller) { _ in true }
    }

    func expire(accessToken text: String) { access.expire(text, now: now()) }

    /// Refuses a session's tokens from now on, notifies its device, and logs the end.
    ///
    /// - Parameter caller: Nil for an operator.
    func announce(_ account: String, _ session: String, _ reason: SessionEnd, _ caller: Caller?) {
        hear(account, session, reason)
        pokes.announce(.ended(account: account, session: session, reason: reason))
        log.note(
            reason == .reuseDetected ? .tokenReused : .sessionEnded, caller, account: account, session: session,
            end: reason)
    }

    func hear(_ account: String, _ session: String, _ reason: SessionEnd) {
        directory.end(session, reason)
        pokes.ended(account: account, session: session, reason: reason)
    }
}
