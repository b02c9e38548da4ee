// This source file is part of the Optimist open source project, under the MIT licence.

/// Why no user is signed in. An open set: the server may have reasons of its own.
public struct SignOutReason: Hashable, Sendable, RawRepresentable, CustomStringConvertible {
    /// As the server writes it.
    public let rawValue: String
    public init(rawValue: String) { self.rawValue = rawValue }
    public var description: String { rawValue }

    /// No user has signed in on this device yet.
    public static let neverSignedIn = Self(rawValue: "never_signed_in")
    /// The person signed out here.
    public static let signedOut = Self(rawValue: "signed_out")
    /// Another user has signed in here since.
    public static let replaced = Self(rawValue: "replaced")
    /// The credentials were given by another server than the one in use now.
    public static let otherServer = Self(rawValue: "other_server")
    /// The kept credentials cannot be read, or others could read them.
    public static let credentialsUnreadable = Self(rawValue: "credentials_unreadable")

    /// The session was not used for too long.
    public static let refreshExpired = Self(rawValue: "refresh_expired")
    /// The account has been signed in on another device, and the server allows one.
    public static let signedInElsewhere = Self(rawValue: "signed_in_elsewhere")
    /// The person, or an operator, ended this session from elsewhere.
    public static let revoked = Self(rawValue: "revoked")
    /// An old refresh token was presented again: it may have been copied.
    public static let reuseDetected = Self(rawValue: "reuse_detected")
    /// The password was changed on another device, or reset.
    public static let passwordChanged = Self(rawValue: "password_changed")
    /// The account was deleted, here or on another device. What the app has kept of it is still there.
    public static let accountDeleted = Self(rawValue: "account_deleted")
    /// The server refuses the refresh token and does not say why.
    public static let refused = Self(rawValue: "refused")

    /// One sentence that is safe to show. Never compare it.
    public var message: String {
        switch self {
        case .neverSignedIn: "No user is signed in yet."
        case .signedOut: "You have signed out."
        case .replaced: "Somebody else has signed in since."
        case .otherServer: "The kept credentials belong to another server."
        case .credentialsUnreadable: "The kept credentials could not be read."
        case .refreshExpired: "The session was not used for too long."
        case .signedInElsewhere: "The account was signed in on another device."
        case .revoked: "The session was ended from elsewhere."
        case .passwordChanged: "The password was changed. Sign in with the new one."
        case .accountDeleted: "The account was deleted."
        case .reuseDetected: "The session was ended because its token was used twice."
        default: "The server has ended the session."
        }
    }
}
