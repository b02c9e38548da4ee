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
    /// The code for the app to switch on.
    public let code: Code
    /// One sentence that is safe to show. Never compare it.
    public let message: String
    /// Why the session ended, if sync is paused for that and the session knows why. Nil otherwise.
    public let signOutReason: SignOutReason?

    /// Makes a reason, for tests and previews.
    public init(_ code: Code, _ message: String, signOutReason: SignOutReason? = nil) {
        self.code = code
        self.message = message
        self.signOutReason = signOutReason
    }

    /// The kind of reason, as an open set: a minor release may add codes. For an unknown code, show the message.
    public struct Code: Hashable, Sendable, CustomStringConvertible {
        public let description: String
        /// Makes a code from its text. Two codes are equal if their texts are equal.
        public init(_ description: String) { self.description = description }

        /// No user is signed in. Sync resumes after the next sign-in.
        public static let signedOut = Self("signedOut")
        /// The server does not let this account sync. The engine tries again every minute, and when the app comes to
        /// the foreground.
        public static let accountRefused = Self("accountRefused")
        /// The database file belongs to another account.
        public static let otherAccount = Self("otherAccount")
        /// Another process of the app syncs this file. Sync resumes here when the other process stops.
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
