// This source file is part of the Optimist open source project, under the MIT licence.

/// The user who is signed in to a remote, as far as the device knows without a request.
public enum SignInState: Sendable, Hashable {
    /// Not known yet, for example because the remote has not read the stored credentials. The store keeps using the
    /// last known user.
    case unknown
    /// No user is signed in.
    case nobody
    /// An account is signed in, identified by a text that covers the account and its server. The text is the same at
    /// each sign-in and different for every other account. If the remote knows ``RemoteAccount/id``, the text is that
    /// id.
    case account(String)
}

/// Asks who is signed in. A struct, because each access to a bare function in a `Mutex` wraps it once more: after a few
/// thousand writes, a call would overflow the stack.
struct SignedInQuestion: Sendable {
    let ask: @Sendable () -> SignInState
}
