// This source file is part of the Optimist open source project, under the MIT licence.

/// Why a session has ended: the `reason` of an `invalid_grant` error.
package enum SessionEnd: String, Sendable {
    case refreshExpired = "refresh_expired"
    case signedInElsewhere = "signed_in_elsewhere"
    case revoked
    case reuseDetected = "reuse_detected"
    /// By another device of the account, or with a reset token.
    case passwordChanged = "password_changed"
    case accountDeleted = "account_deleted"
}

/// A device's session: a sequence of numbered refresh tokens.
///
/// Only the newest token is accepted, with one exception: a device that lost an answer may present the previous token
/// and gets the same successor again, until the successor has been used. The successor counts as used when it is
/// presented, or when the access token that was issued with it is used. A client that presents the previous token after
/// that must have a copy of it.
package struct SessionRecord: Sendable, Equatable {
    package var account: String
    package var id: String
    package var deviceID: String
    package var deviceName: String
    /// Part of each signature, so that neither the server's key nor a copy of the database is enough to make a token.
    package var salt: [UInt8]
    /// The number of the newest refresh token.
    package var generation: Int
    /// The highest number whose access token has been used.
    package var confirmed: Int
    /// When the newest refresh token was made, in seconds since 1970.
    package var refreshedAt: Double
    package var ended: SessionEnd?
    /// When the user signed in, in seconds since 1970. Nil if an earlier version of the server made the session.
    package var begunAt: Double?

    package init(
        account: String, id: String, deviceID: String, deviceName: String, salt: [UInt8], generation: Int,
        confirmed: Int,
        refreshedAt: Double, ended: SessionEnd? = nil, begunAt: Double? = nil
    ) {
        self.account = account
        self.id = id
        self.deviceID = deviceID
        self.deviceName = deviceName
        self.salt = salt
        self.generation = generation
        self.confirmed = confirmed
        self.refreshedAt = refreshedAt
        self.ended = ended
        self.begunAt = begunAt
    }

    /// Decides whether to accept a refresh token with a valid signature.
    ///
    /// After a restore the token may have a higher number than this record. Such a token is accepted, because only the
    /// server can make it, and numbering continues after its number.
    ///
    /// - Parameters:
    ///   - presented: The token's number.
    ///   - now: Seconds since 1970.
    ///   - lifetime: How long a refresh token may remain unused, in seconds.
    /// - Returns: Whether to answer with tokens of the (possibly new) `generation`. If not, `ended` has the reason.
    mutating func refresh(presenting presented: Int, now: Double, lifetime: Double) -> Bool {
        if ended != nil { return false }
        if now - refreshedAt > lifetime {
            ended = .refreshExpired
            return false
        }
        if presented >= generation {
            generation = presented + 1
            refreshedAt = now
            return true
        }
        if presented == generation - 1, confirmed < generation { return true }
        ended = .reuseDetected
        return false
    }
}
