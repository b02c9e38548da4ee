// This source file is part of the Optimist open source project, under the MIT licence.

/// The right to renew the credentials of a store. One of the processes that share the store has it at a time.
///
/// If two processes renewed at once, both would present the same refresh token. A server that rotates tokens takes the
/// second for a thief, if the first has used its new token by then.
public struct CredentialLease: Sendable {
    /// Gives the right back. A second call does no harm. It may be called on any thread.
    public let end: @Sendable () -> Void

    /// Makes a lease.
    ///
    /// - Parameter end: Gives the right back. Default: does nothing, for a store that one process has alone.
    public init(end: @escaping @Sendable () -> Void = {}) { self.end = end }
}
