// This source file is part of the Optimist open source project, under the MIT licence.

public import Foundation

/// Keeps one session's credentials and the id of this installation, outside backups.
///
/// Calls block their thread for as long as a small file takes to be written. The session makes them one at a time.
/// Every method throws `OptimistError`, with a message that says what to do.
public protocol CredentialStore: Sendable {
    /// Returns what is kept, or nil when no user is signed in.
    ///
    /// - Throws: Code `credentialsLocked` when they cannot be read yet (before the first unlock);
    ///   `credentialsUnreadable` or `credentialsInsecure` when they cannot be trusted.
    func load() throws -> Credentials?

    /// Replaces the credentials, all or nothing. After it returned, they survive a crash and a power loss.
    ///
    /// - Throws: Code `credentialsUnwritable` if they cannot be kept, `credentialsInsecure` if others could read them.
    func save(_ credentials: Credentials) throws

    /// Removes the credentials, and keeps the id of the installation. Does nothing if there are none.
    ///
    /// - Throws: Code `credentialsUnwritable` or `credentialsInsecure`. The credentials are kept then.
    func erase() throws

    /// Returns the id of this installation. If there is none yet, the store keeps `new` as the id.
    ///
    /// If several processes call at once, all get the same id.
    ///
    /// - Throws: As ``load()`` and ``save(_:)``.
    func installID(storingIfMissing new: UUID) throws -> UUID

    /// Takes the right to renew the credentials. If its process dies, the right is free again at once, or after 45
    /// seconds.
    ///
    /// - Parameter now: The device's time of day, for a store that has to note it.
    /// - Returns: Nil while another process has the right, or another session of this process. The default
    ///   implementation, for stores that are not shared, always grants it.
    /// - Throws: As ``save(_:)``.
    func lease(at now: Date) throws -> CredentialLease?
}

extension CredentialStore {
    public func lease(at now: Date) throws -> CredentialLease? { CredentialLease() }
}
