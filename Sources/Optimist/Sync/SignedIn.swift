// This source file is part of the Optimist open source project, under the MIT licence.

/// The user who is signed in at a remote, as far as that is known without asking it.
public enum SignedIn: Sendable, Hashable {
    /// The remote cannot say now, because it has not read the kept credentials yet, for example. The last known user
    /// holds.
    case unknown
    /// No user is signed in.
    case nobody
    /// This account is: a name for it and its server, the same at each sign-in and different for every other account. A
    /// remote that knows ``RemoteAccount/id`` gives that.
    case account(String)
}

/// Asks who is signed in. A struct, since a function that a `Mutex` holds by itself is wrapped once more by every access: after
/// some thousand writes the call would overflow its stack.
struct SignedInQuestion: Sendable {
    let ask: @Sendable () -> SignedIn
}
