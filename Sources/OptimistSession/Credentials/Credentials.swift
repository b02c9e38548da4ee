// This source file is part of the Optimist open source project, under the MIT licence.

public import Foundation

/// What proves who is asking: a short-lived access token, and the refresh token that buys the next pair.
public struct Credentials: Equatable, Sendable {
    public var accessToken: Secret
    public var refreshToken: Secret
    /// When the access token ends, by the server's clock as far as it was known when the token came.
    /// Nil when the server did not say: it is then used until it is refused.
    public var expiresAt: Date?
    /// How long the access token lives in all.
    public var lifetime: Duration?
    /// How far the server's clock was ahead of this device's when the token came.
    public var serverClockAhead: Duration
    public var account: Account
    /// The origin they were given by. They are sent nowhere else.
    public var origin: String

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

/// Whose session it is.
public struct Account: Hashable, Sendable, Codable {
    /// The server's name for the account: the subject of its tokens, or the e-mail address where it names none.
    public var id: String
    /// The address that was signed in with.
    public var email: String

    public init(id: String, email: String) {
        self.id = id
        self.email = email
    }
}

extension Credentials {
    /// Returns them as bytes for a ``CredentialStore`` to keep. These bytes are secret.
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
