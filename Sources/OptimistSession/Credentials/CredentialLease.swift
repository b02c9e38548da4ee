// This source file is part of the Optimist open source project, under the MIT licence.

/// The right to renew the credentials of a store, which one of the processes that share it has at a time.
///
/// Two that renew at once present the same refresh token. A server that rotates tokens takes the second for a thief's, if the
/// first has used its new one by then.
public struct CredentialLease: Sendable {
    /// Gives the right back. What it does a second time must do no harm.
    public let end: @Sendable () -> Void

    public init(end: @escaping @Sendable () -> Void = {}) { self.end = end }
}
