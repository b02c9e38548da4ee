// This source file is part of the Optimist open source project, under the MIT licence.

/// Why a session is over. On the wire: the `reason` beside `invalid_grant`.
package enum SessionEnd: String, Sendable {
    case refreshExpired = "refresh_expired"
    case signedInElsewhere = "signed_in_elsewhere"
    case revoked
    case reuseDetected = "reuse_detected"
    /// The password was changed or reset, by another device of the account or with a reset token.
    case passwordChanged = "password_changed"
    /// The account is gone, with all that it had.
    case accountDeleted = "account_deleted"
}

/// A device's session: a family of refresh tokens. Each follows from the one before.
///
/// Tokens are numbered. Only the newest may be used, with one exception: a device that lost the answer may present the
/// one before, and gets the same successor again, until that successor has been used. A successor counts as used when
/// it is presented itself, or when an access token that came with it is: a client that presents the older token after
/// that has a copy of it.
package struct SessionRecord: Sendable, Equatable {
    package var account: String
    package var id: String
    package var deviceID: String
    package var deviceName: String
    /// Goes into the tokens, so that neither the server's key alone nor a copy of the database alone makes one.
    package var salt: [UInt8]
    /// The number of the newest refresh token.
    package var generation: Int
    /// The newest number with an access token that has been used.
    package var confirmed: Int
    /// When the newest refresh token was made, in seconds since 1970.
    package var refreshedAt: Double
    package var ended: SessionEnd?
    /// The time of the sign-in, in seconds since 1970. Nil: before servers noted that.
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

    /// Decides what becomes of a refresh token, whose signature is right.
    ///
    /// A token with a number that this record has not come to was made here too, before the database went back to a
    /// backup. It is taken, and numbering goes on after it: only the server can make one.
    ///
    /// - Parameters:
    ///   - presented: Its number.
    ///   - now: Seconds since 1970.
    ///   - lifetime: How long a refresh token may lie unused, in seconds.
    /// - Returns: Whether to answer with tokens of the (possibly new) `generation`. If not, `ended` says why.
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
