// This source file is part of the Optimist open source project, under the MIT licence.

public import Foundation

/// Keeps one session's credentials and the id of this installation, outside backups.
///
/// Calls block their thread for as long as a small file takes to be written. The session makes them one at a time.
/// Every method throws `OptimistError`, with a message that says what to do.
public protocol CredentialStore: Sendable {
    /// Returns what is kept, or nil when nobody is signed in.
    ///
    /// - Throws: Code `credentialsLocked` when they cannot be read yet (before the first unlock);
    ///   `credentialsUnreadable` or `credentialsInsecure` when they cannot be trusted.
    func load() throws -> Credentials?

    /// Replaces what is kept, all or nothing. When it returns, they survive a crash and a power loss.
    func save(_ credentials: Credentials) throws

    /// Removes the credentials, and keeps the id of the installation.
    func erase() throws

    /// Returns the id of this installation, and keeps `new` as such if there is none yet.
    ///
    /// Of several processes that ask at once, all get the same answer.
    func installID(orKeep new: UUID) throws -> UUID

    /// Takes the right to renew the credentials. Whoever dies with it gives it back: at once, or after three quarters of a minute.
    ///
    /// - Parameter now: The device's time of day, for a store that has to note it.
    /// - Returns: Nil while another process has it, or another session of this one. The default, for stores that are not
    ///   shared, always gives it.
    func lease(at now: Date) throws -> CredentialLease?
}

extension CredentialStore {
    public func lease(at now: Date) throws -> CredentialLease? { CredentialLease() }
}
