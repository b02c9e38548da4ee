// This source file is part of the Optimist open source project, under the MIT licence.

package import Foundation
import OptimistCore
@_spi(Internals) import OptimistServing
@_spi(Internals) import OptimistWire

final class Accounts: Sendable {
    struct Settings: Sendable {
        var refreshLifetimeSeconds: Double
        var allowsOneDeviceOnly: Bool
        var signUp: SignUpMode
        var signIn: SignInMode
        var ownerlessSpaces: OwnerlessSpaces
        var attempts: [AttemptKind: AttemptRate]
        /// The types that rows may have. Nil: no server has served the data, or the order does not need them.
        var types: Set<String>?
    }

    let store: any AccountStore
    let health: any HealthStore
    let attempts: any AttemptStore
    let keys: ServerKeys
    let access: AccessTokens
    let passwords: Passwords
    let providers: IdentityProviders
    let pokes: Pokes
    let spaces: SpaceCare
    /// Notifies the devices that use a space of a change to rows of some types.
    let tell: @Sendable (_ space: String, _ types: Set<String>, SyncState) -> Void
    let settings: Settings
    let now: @Sendable () -> Date
    let makeID: @Sendable () -> UUID
    let directory: SessionDirectory
    let log: SecurityLog
    let spaceLog: SpaceLog
    /// Nil if the app does not deliver reset tokens.
    let forgetful: ForgottenPasswords?

    /// - Parameters:
    ///   - tell: Notifies the devices that use a space.
    ///   - forgetful: Nil if only operators hand out reset tokens.
    ///   - now: The time that expires sessions and tokens. Nil uses the time of the dependencies.
    init(
        storage: OpenedStorage, access: AccessTokens, passwords: Passwords, providers: IdentityProviders = .none,
        pokes: Pokes,
        tell: @escaping @Sendable (String, Set<String>, SyncState) -> Void, settings: Settings,
        forgetful: ForgottenPasswords?, log: SecurityLog, dependencies: Dependencies,
        now: (@Sendable () -> Date)? = nil
    ) {
        store = storage.accounts
        health = storage.health
        attempts = storage.attempts
        keys = storage.keys
        self.access = access
        self.passwords = passwords
        self.providers = providers
        self.pokes = pokes
        spaces = SpaceCare(store: storage.rows, now: now ?? dependencies.now)
        self.tell = tell
        self.settings = settings
        self.now = now ?? dependencies.now
        makeID = dependencies.makeID
        directory = SessionDirectory(
            lifetime: storage.standingLifetime, elapsed: dependencies.clock.stopwatch(),
            epoch: { storage.rows.epoch })
        self.forgetful = forgetful
        self.log = log
        spaceLog = SpaceLog(logger: log.logger)
    }

    func email(of account: String) async throws -> String? { try await store.account(id: account)?.email }

    func all() async throws -> [StoredAccount] { try await store.accounts() }

    var time: Double { now().timeIntervalSince1970 }
}

// MARK: - Identifying the sender

extension Accounts {
    struct Identity: Hashable, Sendable {
        var account: String
        var session: String
    }

    /// - Throws: ``Unauthorized``.
    func identify(_ token: String?) async throws -> Identity {
        guard let token else { throw Unauthorized() }
        guard let claims = access.claims(of: token, now: now()) else {
            throw Unauthorized(description: "The access token is not valid or has expired.")
        }
        let standing = try await standing(claims)
        if let end = standing.ended { throw Unauthorized(description: "The session has ended.", end: end) }
        if claims.gen > standing.confirmed { try await confirm(claims) }
        return Identity(account: claims.sub, session: claims.sid)
    }

    /// Returns the session of an access token, even if the token has expired, and whether the token is accepted. Nil if
    /// this server did not issue the token.
    func session(accessToken text: String) async throws -> (record: SessionRecord, isLetIn: Bool)? {
        guard let claims = access.claims(ofAnyAge: text, now: now()),
            let record = try await store.session(account: claims.sub, id: claims.sid)
        else { return nil }
        return (record, access.claims(of: text, now: now()) != nil && record.ended == nil)
    }

    /// Asks the database.
    func end(session: String, of account: String) async throws -> SessionEnd? {
        if let record = try await store.session(account: account, id: session) { return record.ended }
        return try await store.isDeleted(account: account) ? .accountDeleted : .revoked
    }

    /// As far as this process knows.
    func end(of identity: Identity) -> SessionEnd? { directory[identity.session]?.ended }

    private func standing(_ claims: AccessTokens.Claims) async throws -> SessionDirectory.Standing {
        if let known = directory[claims.sid] { return known }
        guard let record = try await store.session(account: claims.sub, id: claims.sid) else {
            let isDeleted = try await store.isDeleted(account: claims.sub)
            throw Unauthorized(description: "The session does not exist.", end: isDeleted ? .accountDeleted : .revoked)
        }
        return directory.learn(record)
    }

    /// The device has received this token, so the previous refresh token is no longer accepted.
    private func confirm(_ claims: AccessTokens.Claims) async throws {
        _ = try await store.change(account: claims.sub, session: claims.sid) { record in
            record.confirmed = max(record.confirmed, claims.gen)
        }
        directory.confirm(claims.sid, claims.gen)
    }
}

extension UUID {
    /// Hexadecimal digits in lower case.
    var plainText: String { uuidString.lowercased().replacing("-", with: "") }
}

extension Date {
    /// RFC 3339 with milliseconds.
    package var utcText: String { formatted(Date.ISO8601FormatStyle(includingFractionalSeconds: true)) }
}
