// This source file is part of the Optimist open source project, under the MIT licence.

import Foundation
import OptimistCore
import OptimistWire
import Synchronization

/// Signing up, signing in, and knowing who asks.
final class Accounts: Sendable {
    struct Settings: Sendable {
        var refreshLifetimeSeconds: Double
        /// Whether signing in on one device ends the sessions of all others.
        var allowsOneDeviceOnly: Bool
        var attemptsPerAddress: AttemptLimiter
        var attemptsPerAccount: AttemptLimiter
    }

    private let store: AccountStore
    private let keys: ServerKeys
    private let access: AccessTokens
    private let passwords: Passwords
    private let pokes: Pokes
    private let settings: Settings
    private let now: @Sendable () -> Date
    private let makeID: @Sendable () -> UUID
    private let elapsed: @Sendable () -> Duration
    private let directory = SessionDirectory()
    private let byAddress: Mutex<AttemptLimiter>
    private let byAccount: Mutex<AttemptLimiter>

    init(
        store: AccountStore, keys: ServerKeys, access: AccessTokens, passwords: Passwords, pokes: Pokes,
        settings: Settings, surroundings: Surroundings
    ) {
        self.store = store
        self.keys = keys
        self.access = access
        self.passwords = passwords
        self.pokes = pokes
        self.settings = settings
        now = surroundings.now
        makeID = surroundings.makeID
        elapsed = surroundings.clock.stopwatch()
        byAddress = Mutex(settings.attemptsPerAddress)
        byAccount = Mutex(settings.attemptsPerAccount)
    }

    func email(of account: String) async throws -> String? { try await store.account(id: account)?.email }

    func all() async throws -> [AccountStore.Account] { try await store.accounts() }
}

// MARK: - Signing in

extension Accounts {
    /// What somebody types to sign up or in, and on which device.
    struct Entry: Sendable {
        var email: String
        var password: String
        var deviceID: String
        var deviceName: String

        /// - Throws: ``AuthRefusal`` that says what is missing.
        init(json: JSON) throws(AuthRefusal) {
            guard let email = json["email"]?.string, let password = json["password"]?.string,
                let device = json["device"]?["id"]?.string
            else { throw .invalidRequest("\"email\", \"password\" and \"device\" with an \"id\" are needed.") }
            let address = email.trimmingCharacters(in: .whitespacesAndNewlines)
            guard (3...254).contains(address.utf8.count), address.dropFirst().dropLast().contains("@") else {
                throw .invalidRequest("This is no email address.", reason: "invalid_email")
            }
            guard password.utf8.count <= 1024 else {
                throw .invalidRequest("A password has at most 1024 bytes.", reason: "invalid_password")
            }
            guard (1...128).contains(device.utf8.count) else {
                throw .invalidRequest("A device id has 1 to 128 bytes.")
            }
            self.email = address
            self.password = password
            deviceID = device
            deviceName = String((json["device"]?["name"]?.string ?? "").prefix(200))
        }
    }

    /// - Parameter address: Where the request comes from, for the limit on attempts.
    func signUp(_ entry: Entry, from address: String) async throws -> JSON {
        try limit(address: address)
        guard entry.password.count >= 8 else {
            throw AuthRefusal.invalidRequest("A password has at least 8 characters.", reason: "weak_password")
        }
        let account = AccountStore.Account(
            id: "a" + makeID().plainText.prefix(16), email: entry.email, password: try await hash(entry.password))
        let session = newSession(account.id, entry)
        guard try await store.add(account, session, at: now().utcText) else {
            throw AuthRefusal.invalidRequest("This address is already in use.", reason: "email_taken")
        }
        return try await grant(session)
    }

    func signIn(_ entry: Entry, from address: String) async throws -> JSON {
        try limit(address: address)
        let key = entry.email.lowercased()
        if let wait = byAccount.withLock({ $0.attempt(key, now: elapsed()) }) { throw AuthRefusal.tooMany(wait) }
        let account = try await store.account(email: entry.email)
        guard try await isRight(entry.password, account?.password), let account else {
            throw AuthRefusal.invalidGrant("The address or the password is wrong.")
        }
        byAccount.withLock { $0.forgive(key) }
        let session = newSession(account.id, entry)
        for ended in try await store.begin(session, isOnlyOne: settings.allowsOneDeviceOnly) {
            announce(account.id, ended, .signedInElsewhere)
        }
        return try await grant(session)
    }

    private func limit(address: String) throws {
        if let wait = byAddress.withLock({ $0.attempt(address, now: elapsed()) }) { throw AuthRefusal.tooMany(wait) }
    }

    private func hash(_ password: String) async throws -> String {
        do { return try await passwords.hash(password) } catch is Passwords.Busy { throw AuthRefusal.busy }
    }

    private func isRight(_ password: String, _ stored: String?) async throws -> Bool {
        do {
            return try await passwords.verify(password, against: stored)
        } catch is Passwords.Busy { throw AuthRefusal.busy }
    }

    private func newSession(_ account: String, _ entry: Entry) -> SessionRecord {
        SessionRecord(
            account: account, id: "s" + makeID().plainText, deviceID: entry.deviceID, deviceName: entry.deviceName,
            salt: randomBytes(16), generation: 1, confirmed: 0, refreshedAt: now().timeIntervalSince1970)
    }

    /// > Source: RFC 6749 §5.1.
    private func grant(_ session: SessionRecord) async throws -> JSON {
        let refresh = RefreshToken(session, number: session.generation, key: keys.refresh)
        return [
            "access_token": .string(try await access.make(session, now: now())), "token_type": "Bearer",
            "expires_in": .int(Int64(access.lifetime)), "refresh_token": .string(refresh.text),
            "account_id": .string(session.account),
        ]
    }
}

// MARK: - Refreshing and ending

extension Accounts {
    func refresh(_ text: String) async throws -> JSON {
        guard let token = RefreshToken(text) else { throw AuthRefusal.invalidGrant("This is no refresh token.") }
        let (key, seconds, lifetime) = (keys.refresh, now().timeIntervalSince1970, settings.refreshLifetimeSeconds)
        let change = try await store.change(account: token.account, session: token.session) { record -> Bool? in
            guard token.isGenuine(for: record, key: key) else { return nil }
            return record.refresh(presenting: token.number, now: seconds, lifetime: lifetime)
        }
        guard let (record, isGranted) = change, let isGranted else {
            throw AuthRefusal.invalidGrant("This is no refresh token of this server.")
        }
        if isGranted { return try await grant(record) }
        if let end = record.ended { announce(record.account, record.id, end) }
        throw AuthRefusal.invalidGrant("The session has ended.", record.ended)
    }

    /// Forgets sessions that have been over for so long that nobody is told why any more: they have lain unused for twice as
    /// long as they may.
    func forgetSessions() async throws {
        try await store.forgetSessions(
            refreshedBefore: now().timeIntervalSince1970 - 2 * settings.refreshLifetimeSeconds)
    }

    /// Ends the session that a token belongs to. A token that belongs to none is no error.
    ///
    /// > Source: RFC 7009.
    func revoke(_ text: String) async throws {
        if let token = RefreshToken(text) {
            let key = keys.refresh
            try await end(account: token.account, session: token.session) { token.isGenuine(for: $0, key: key) }
        } else if let claims = await access.claims(of: text, now: now()) {
            try await end(account: claims.sub, session: claims.sid) { _ in true }
        }
    }

    private func end(
        account: String, session: String, if isMeant: @escaping @Sendable (SessionRecord) -> Bool
    ) async throws {
        let change = try await store.change(account: account, session: session) { record -> Bool in
            guard isMeant(record), record.ended == nil else { return false }
            record.ended = .revoked
            return true
        }
        if change?.value == true { announce(account, session, .revoked) }
    }

    /// Ends a session as an operator does.
    func revoke(account: String, session: String) async throws {
        try await end(account: account, session: session) { _ in true }
    }

    /// Refuses an access token from now on, as if its time had passed. Its session goes on.
    func expire(accessToken text: String) async { await access.expire(text, now: now()) }

    private func announce(_ account: String, _ session: String, _ reason: SessionEnd) {
        directory.end(session, reason)
        pokes.ended(account: account, session: session, reason: reason)
    }
}

// MARK: - Knowing who asks

extension Accounts {
    /// Who sends a request.
    struct Identity: Hashable, Sendable {
        var account: String
        var session: String
    }

    /// - Throws: ``Unauthorized``.
    func identify(_ token: String?) async throws -> Identity {
        guard let token else { throw Unauthorized() }
        guard let claims = await access.claims(of: token, now: now()) else {
            throw Unauthorized(description: "The access token is not valid or has expired.")
        }
        let standing = try await standing(claims)
        if let end = standing.ended { throw Unauthorized(description: "The session has ended.", end: end) }
        if claims.gen > standing.confirmed { try await confirm(claims) }
        return Identity(account: claims.sub, session: claims.sid)
    }

    /// The session that an access token of any age was made for, and whether the token is let in. Nil: it is not ours.
    func session(accessToken text: String) async throws -> (record: SessionRecord, isLetIn: Bool)? {
        guard let claims = await access.claims(ofAnyAge: text, now: now()),
            let record = try await store.session(account: claims.sub, id: claims.sid)
        else { return nil }
        return (record, await access.claims(of: text, now: now()) != nil && record.ended == nil)
    }

    /// Why a session is over, if it is.
    func end(of identity: Identity) -> SessionEnd? { directory[identity.session]?.ended }

    private func standing(_ claims: AccessTokens.Claims) async throws -> SessionDirectory.Standing {
        if let known = directory[claims.sid] { return known }
        guard let record = try await store.session(account: claims.sub, id: claims.sid) else {
            throw Unauthorized(description: "There is no such session.", end: .revoked)
        }
        return directory.learn(record)
    }

    /// The device has received this token, so the refresh token before it is of no more use to it.
    private func confirm(_ claims: AccessTokens.Claims) async throws {
        _ = try await store.change(account: claims.sub, session: claims.sid) { record in
            record.confirmed = max(record.confirmed, claims.gen)
        }
        directory.confirm(claims.sid, claims.gen)
    }
}

extension UUID {
    /// Its hexadecimal digits in lower case.
    fileprivate var plainText: String { uuidString.lowercased().replacing("-", with: "") }
}

extension Swift.Clock where Duration == Swift.Duration {
    /// Returns a function that says how much time has passed since now.
    fileprivate func stopwatch() -> @Sendable () -> Duration {
        let start = now
        return { start.duration(to: self.now) }
    }
}

extension Date {
    /// RFC 3339 with milliseconds.
    fileprivate var utcText: String { formatted(Date.ISO8601FormatStyle(includingFractionalSeconds: true)) }
}
