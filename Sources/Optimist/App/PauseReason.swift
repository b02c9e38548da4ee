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
    /// The code to switch on.
    public let code: Code
    /// One sentence that is safe to show. Never compare it.
    public let message: String
    /// Why the session ended, if that paused sync and the session knows the reason. Otherwise nil.
    public let signOutReason: SignOutReason?

    /// Creates a reason, for tests and previews.
    public init(_ code: Code, _ message: String, signOutReason: SignOutReason? = nil) {
        self.code = code
        self.message = message
        self.signOutReason = signOutReason
    }

    /// An open set of reasons: a minor release may add codes. For an unknown code, show the message.
    public struct Code: Hashable, Sendable, CustomStringConvertible {
        public let description: String
        /// Creates a code from its text. Codes with equal texts are equal.
        public init(_ description: String) { self.description = description }

        /// No user is signed in. Sync resumes after the next sign-in.
        public static let signedOut = Self("signedOut")
        /// The server does not allow this account to sync. The engine retries every minute, and when the app enters the
        /// foreground.
        public static let accountRefused = Self("accountRefused")
        /// The database file belongs to another account.
        public static let otherAccount = Self("otherAccount")
        /// Another process of the app syncs this file. Sync resumes here when that process stops.
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

    init(_ reason: SignOutReason) { self.init(.signedOut, reason.message, signOutReason: reason) }
}
