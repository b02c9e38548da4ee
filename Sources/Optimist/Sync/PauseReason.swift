// This source file is part of the Optimist open source project, under the MIT licence.

public import OptimistSession

/// Why sync waits for the app.
///
/// ```swift
/// if case .paused(let reason) = status.phase {
///     switch reason.code {
///     case .signedOut: showSignIn(because: reason.message)
///     case .otherProcess: break
///     default: show(reason.message)
///     }
/// }
/// ```
public struct PauseReason: Sendable, Hashable {
    /// What the app can switch on.
    public let code: Code
    /// One sentence that is safe to show. Never compare it.
    public let message: String
    /// Why the session ended, if that is why sync waits and the session said so.
    public let signOutReason: SignOutReason?

    public init(_ code: Code, _ message: String, signOutReason: SignOutReason? = nil) {
        self.code = code
        self.message = message
        self.signOutReason = signOutReason
    }

    /// An open set: a minor release may add some. Show the message for one that you do not know.
    public struct Code: Hashable, Sendable, CustomStringConvertible {
        public let description: String
        public init(_ description: String) { self.description = description }

        /// The user is not signed in. Sync goes on after the next sign-in.
        public static let signedOut = Self("signedOut")
        /// The server does not let this account sync. Sync tries again when the app comes to the foreground.
        public static let accountRefused = Self("accountRefused")
        /// The database file belongs to another account.
        public static let otherAccount = Self("otherAccount")
        /// Another process of the app syncs this file. Sync goes on here when that one ends.
        public static let otherProcess = Self("otherProcess")
    }
}

extension PauseReason: CustomStringConvertible {
    public var description: String {
        let name = signOutReason.map { "\(code) (\($0.rawValue))" } ?? "\(code)"
        return "\(name): \(message)"
    }
}

extension PauseReason {
    static let otherProcess = Self(.otherProcess, "Another part of this app is syncing.")

    /// The session ended.
    init(_ reason: SignOutReason) { self.init(.signedOut, reason.message, signOutReason: reason) }
}
