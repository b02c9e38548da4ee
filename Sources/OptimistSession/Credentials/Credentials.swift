// This source file is part of the Optimist open source project, under the MIT licence.

public import Foundation

/// The tokens that prove who sends a request: a short-lived access token, and the refresh token that the session
/// exchanges for the next pair.
public struct Credentials: Equatable, Sendable {
    /// The token that every request carries as `Authorization: Bearer …`.
    public var accessToken: Secret
    /// The token that the next pair is asked for with. The server sees it in no other request.
    public var refreshToken: Secret
    /// When the access token ends, by the server's clock as far as it was known when the token came. Nil if the server
    /// omitted it: the session then uses the token until it is refused.
    public var expiresAt: Date?
    /// How long the access token lives in all. Nil if the server omitted it. ``serialized()`` keeps whole seconds.
    public var lifetime: Duration?
    /// How far the server's clock was ahead of this device's when the token came. Negative if it was behind.
    public var serverClockAhead: Duration
    /// The account that is signed in.
    public var account: Account
    /// The origin of the server that issued the tokens, such as `https://sync.example.org`. The session sends them to
    /// no other.
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
    /// Makes credentials of tokens that the app has from elsewhere, for ``Session/adopt(_:)``.
    ///
    /// - Parameters:
    ///   - accessToken: Signs requests.
    ///   - refreshToken: Is exchanged for new tokens.
    ///   - lifetime: How long the access token still lives. Default: nil, and it is renewed when the server refuses it.
    ///   - account: The account that the tokens are of.
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
    /// The server's name for the account: the subject of its tokens, or the email address if it names none.
    public var id: String
    /// The email address that the user signed in with.
    public var email: String

    /// Makes an account.
    public init(id: String, email: String) {
        self.id = id
        self.email = email
    }
}

extension Credentials {
    /// Returns the credentials as bytes for a ``CredentialStore`` to keep. These bytes are secret.
    ///
    /// - Throws: `EncodingError`, which values made by this library never cause.
    public func serialized() throws -> Data {
        try JSONEncoder().encode(
            Record(
                version: 1, access: accessToken.exposed, refresh: refreshToken.exposed, expiresAt: expiresAt,
                lifetimeSeconds: lifetime.map { Int($0.components.seconds) },
                aheadSeconds: Int(serverClockAhead.components.seconds), account: account, origin: origin))
    }

    /// Reads what ``serialized()`` made.
    ///
    /// - Throws: `DecodingError` when the bytes are something else.
    public init(serialized data: Data) throws {
        let record = try JSONDecoder().decode(Record.self, from: data)
        self.init(
            accessToken: Secret(record.access), refreshToken: Secret(record.refresh), expiresAt: record.expiresAt,
            lifetime: record.lifetimeSeconds.map { .seconds($0) },
            serverClockAhead: .seconds(record.aheadSeconds ?? 0), account: record.account, origin: record.origin)
    }

    /// The form on disk. Members may be added; a reader of an older version ignores them.
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
