// This source file is part of the Optimist open source project, under the MIT licence.

public import Foundation

/// The tokens that authenticate requests: a short-lived access token, and a refresh token to exchange for the next
/// pair.
public struct Credentials: Equatable, Sendable {
    /// The token in each request's `Authorization: Bearer …`.
    public var accessToken: Secret
    /// The token exchanged for the next pair. It is sent only in refresh and revocation requests.
    public var refreshToken: Secret
    /// When the access token expires, by the server's clock as known at the time. Nil if the server omitted it: the
    /// session then uses the token until the server refuses it.
    public var expiresAt: Date?
    /// The access token's total lifetime. Nil if the server omitted it. ``serialized()`` keeps whole seconds.
    public var lifetime: Duration?
    /// How far the server's clock was ahead of this device's clock when the tokens arrived. Negative if it was behind.
    public var serverClockAhead: Duration
    /// The signed-in account.
    public var account: Account
    /// The origin of the server that issued the tokens, such as `https://sync.example.org`. The session sends them
    /// nowhere else.
    public var origin: String

    /// Makes credentials from their parts, unchecked.
    public init(
        accessToken: Secret, refreshToken: Secret, expiresAt: Date?, lifetime: Duration?,
        serverClockAhead: Duration = .zero, account: Account, origin: String
    ) {
        self.accessToken = accessToken
        self.refreshToken = refreshToken
        self.expiresAt = expiresAt
        self.lifetime = lifetime
        self.serverClockAhead = serverClockAhead
        self.account = account
        self.origin = origin
    }
}

extension Credentials {
    /// Makes credentials from tokens obtained elsewhere, for ``Session/adopt(_:)``.
    ///
    /// - Parameters:
    ///   - accessToken: The token that signs requests.
    ///   - refreshToken: The token to exchange for new tokens.
    ///   - lifetime: The access token's remaining lifetime. Default: nil, so the session renews the token when the
    ///     server refuses it.
    ///   - account: The tokens' account.
    ///   - server: The session's server.
    public init(
        accessToken: String, refreshToken: String, lifetime: Duration? = nil, account: Account, server: URL
    ) {
        self.init(
            accessToken: Secret(accessToken), refreshToken: Secret(refreshToken),
            expiresAt: lifetime.map { Date() + $0 / .seconds(1) }, lifetime: lifetime, account: account,
            origin: Origin(server)?.description ?? "")
    }
}

/// The account that a session is signed in to.
public struct Account: Hashable, Sendable, Codable {
    /// The server's id for the account: the subject of its tokens, or the email address if the server has none.
    public var id: String
    /// The email address that the user signed in with. Empty if an identity provider does not vouch for one.
    public var email: String

    /// Makes an account.
    public init(id: String, email: String) {
        self.id = id
        self.email = email
    }
}

extension Credentials {
    /// Returns the credentials as bytes for a ``CredentialStore``. The bytes are secret.
    ///
    /// - Throws: `EncodingError`, never for values made by this library.
    public func serialized() throws -> Data {
        try JSONEncoder().encode(
            Record(
                version: 1, access: accessToken.exposed, refresh: refreshToken.exposed, expiresAt: expiresAt,
                lifetimeSeconds: lifetime.map { Int($0.components.seconds) },
                aheadSeconds: Int(serverClockAhead.components.seconds), account: account, origin: origin))
    }

    /// Reads the result of ``serialized()``.
    ///
    /// - Throws: `DecodingError` for any other bytes.
    public init(serialized data: Data) throws {
        let record = try JSONDecoder().decode(Record.self, from: data)
        self.init(
            accessToken: Secret(record.access), refreshToken: Secret(record.refresh), expiresAt: record.expiresAt,
            lifetime: record.lifetimeSeconds.map { .seconds($0) },
            serverClockAhead: .seconds(record.aheadSeconds ?? 0), account: record.account, origin: record.origin)
    }

    /// The form on disk. Members may be added, because older versions ignore unknown ones.
    private struct Record: Codable {
        var version: Int
        var access: String
        var refresh: String
        var expiresAt: Date?
        var lifetimeSeconds: Int?
        var aheadSeconds: Int?
        var account: Account
        var origin: String
    }
}
