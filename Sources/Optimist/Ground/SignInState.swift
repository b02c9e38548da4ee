// This source file is part of the Optimist open source project, under the MIT licence.

/// The user who is signed in to a remote, as far as the device knows without a request.
public enum SignInState: Sendable, Hashable {
    /// The remote cannot tell yet, for example because it has not read the stored credentials. The store goes on with
    /// the last known user.
    case unknown
    /// No user is signed in.
    case nobody
    /// This account is signed in. The text names the account and its server: it is the same at each sign-in, and
    /// different for every other account. A remote that knows ``RemoteAccount/id`` gives that id.
    case account(String)
}

/// Asks who is signed in. This is a struct because each access to a bare function in a `Mutex` wraps the function once
/// more: after some thousand writes, a call would overflow the stack.
struct SignedInQuestion: Sendable {
    let ask: @Sendable () -> SignInState
}
