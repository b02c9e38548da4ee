// This source file is part of the Optimist open source project, under the MIT licence.

public import Foundation

/// Stores a session's credentials and the installation id, outside backups.
///
/// Calls block their thread for as long as writing a small file takes. The session makes one call at a time. Every
/// method throws `OptimistError`, with a message that says what to do.
public protocol CredentialStore: Sendable {
    /// Returns the stored credentials, or nil if no user is signed in.
    ///
    /// - Throws: Code `credentialsLocked` if they cannot be read before the first unlock; `credentialsUnreadable` or
    ///   `credentialsInsecure` if they cannot be trusted.
    func load() throws -> Credentials?

    /// Replaces the credentials atomically. When it returns, they survive a crash and a power failure.
    ///
    /// - Throws: Code `credentialsUnwritable` if they cannot be stored, `credentialsInsecure` if other users could read
    ///   them.
    func save(_ credentials: Credentials) throws

    /// Removes the credentials but keeps the installation id. Does nothing if there are none.
    ///
    /// - Throws: Code `credentialsUnwritable` or `credentialsInsecure`. The credentials are then kept.
    func erase() throws

    /// Returns the installation id. If there is none, stores and returns `new`.
    ///
    /// Concurrent calls from several processes all get the same id.
    ///
    /// - Throws: As ``load()`` and ``save(_:)``.
    func installID(storingIfMissing new: UUID) throws -> UUID

    /// Acquires the lease to renew the credentials. If the process that holds it dies, the lease becomes free
    /// immediately or after 45 seconds, depending on the store.
    ///
    /// - Parameter now: The device's time of day, for stores that record it.
    /// - Returns: Nil while another process, or another session of this process, holds the lease. The default
    ///   implementation is for unshared stores and always succeeds.
    /// - Throws: As ``save(_:)``.
    func lease(at now: Date) throws -> CredentialLease?
}

extension CredentialStore {
    public func lease(at now: Date) throws -> CredentialLease? { CredentialLease() }
}
