// This source file is part of the Optimist open source project, under the MIT licence.

public import Foundation

/// The state of a session.
public enum SessionState: Equatable, Sendable {
    /// The stored credentials have not been read yet. Requests wait.
    case restoring
    /// The stored credentials cannot be read until the device is unlocked. The next request tries again.
    case locked
    /// No user is signed in. Requests fail immediately.
    case signedOut(SignOutReason)
    /// A user is signed in, as far as is known.
    case active(Account)
    /// New tokens are being fetched. Requests wait if the server refused the old ones.
    case refreshing(Account)
    /// New tokens could not be fetched, but the user stays signed in. The session does not retry before the given time.
    case degraded(Account, nextRefreshAt: Date)

    /// The session's account, or nil while it is unknown or signed out.
    public var account: Account? {
        switch self {
        case .restoring, .locked, .signedOut: nil
        case .active(let account), .refreshing(let account), .degraded(let account, _): account
        }
    }
}
