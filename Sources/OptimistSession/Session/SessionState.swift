// This source file is part of the Optimist open source project, under the MIT licence.

public import Foundation

/// Where a session stands.
public enum SessionState: Equatable, Sendable {
    /// The kept credentials have not been read yet. Requests wait.
    case restoring
    /// The kept credentials cannot be read before the device is unlocked. The next request tries again.
    case locked
    /// No user is signed in. Requests fail at once.
    case signedOut(SignOutReason)
    /// Signed in, as far as is known.
    case active(Account)
    /// New tokens are being fetched. Requests wait if the old ones were refused.
    case refreshing(Account)
    /// New tokens could not be fetched; the user stays signed in. Nothing asks for them before the given time.
    case degraded(Account, nextRefreshAt: Date)

    /// Whose session it is, or nil while that is not known.
    public var account: Account? {
        switch self {
        case .restoring, .locked, .signedOut: nil
        case .active(let account), .refreshing(let account), .degraded(let account, _): account
        }
    }
}
