// This source file is part of the Optimist open source project, under the MIT licence.

/// The right to renew the credentials of a store, held by one process at a time.
///
/// Without it, two processes could present the same refresh token. A server that rotates tokens treats the second use
/// as theft if the first process has already used its new token.
public struct CredentialLease: Sendable {
    /// Releases the lease. May be called repeatedly and on any thread.
    public let end: @Sendable () -> Void

    /// Makes a lease.
    ///
    /// - Parameter end: Releases the lease. Default: does nothing, for a store used by a single process.
    public init(end: @escaping @Sendable () -> Void = {}) { self.end = end }
}
