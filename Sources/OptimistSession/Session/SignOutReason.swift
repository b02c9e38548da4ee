// This source file is part of the Optimist open source project, under the MIT licence.

/// Why no user is signed in. An open set: the server may send other reasons.
public struct SignOutReason: Hashable, Sendable, RawRepresentable, CustomStringConvertible {
    /// The reason as the server writes it.
    public let rawValue: String
    public init(rawValue: String) { self.rawValue = rawValue }
    public var description: String { rawValue }

    /// No user has signed in on this device yet.
    public static let neverSignedIn = Self(rawValue: "never_signed_in")
    /// The user signed out on this device.
    public static let signedOut = Self(rawValue: "signed_out")
    /// Another user has signed in on this device.
    public static let replaced = Self(rawValue: "replaced")
    /// The credentials were issued by a different server.
    public static let otherServer = Self(rawValue: "other_server")
    /// The stored credentials cannot be read, or other users could read them.
    public static let credentialsUnreadable = Self(rawValue: "credentials_unreadable")

    /// The session was unused for too long.
    public static let refreshExpired = Self(rawValue: "refresh_expired")
    /// The account was signed in on another device, and the server allows only one.
    public static let signedInElsewhere = Self(rawValue: "signed_in_elsewhere")
    /// The user or an operator ended this session remotely.
    public static let revoked = Self(rawValue: "revoked")
    /// An old refresh token was presented again, so it may have been copied.
    public static let reuseDetected = Self(rawValue: "reuse_detected")
    /// The password was changed on another device, or reset.
    public static let passwordChanged = Self(rawValue: "password_changed")
    /// The account was deleted, on this or another device. The app's local data is still there.
    public static let accountDeleted = Self(rawValue: "account_deleted")
    /// The server refused the refresh token without a reason.
    public static let refused = Self(rawValue: "refused")

    /// One sentence that is safe to show. Never compare it.
    public var message: String {
        switch self {
        case .neverSignedIn: "No user is signed in yet."
        case .signedOut: "You signed out."
        case .replaced: "Another user has signed in."
        case .otherServer: "The stored credentials belong to another server."
        case .credentialsUnreadable: "The stored credentials could not be read."
        case .refreshExpired: "The session was unused for too long."
        case .signedInElsewhere: "The account was signed in on another device."
        case .revoked: "The session was ended remotely."
        case .passwordChanged: "The password was changed. Sign in with the new one."
        case .accountDeleted: "The account was deleted."
        case .reuseDetected: "The session was ended because its token was used twice."
        default: "The server has ended the session."
        }
    }
}
