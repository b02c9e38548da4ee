// This source file is part of the Optimist open source project, under the MIT licence.

package import Foundation
@_spi(Internals) package import OptimistServing

package struct StoredAccount: Hashable, Sendable {
    package var id: String
    /// As the user entered it.
    package var email: String
    /// A hash. Empty if the user signs in with identities only.
    package var password: String

    package init(id: String, email: String, password: String) {
        self.id = id
        self.email = email
        self.password = password
    }
}

/// The interface between the rules for accounts and a database. Times are seconds since 1970.
///
/// Each function returns when its writes are durable. A change of an account, session or token is one transaction: if
/// the function throws, the change is not stored, unless a ``StorageFailure`` reports otherwise. Functions that erase
/// or forget may use several transactions; if they throw, the next call removes the rest.
package protocol AccountStore: IdentityStore, ServiceKeyStore, WebhookStore {
    /// Only ASCII letters are compared without regard to case.
    func account(email: String) async throws -> StoredAccount?
    func account(id: String) async throws -> StoredAccount?
    /// Sorted by email address, for the operator.
    func accounts() async throws -> [StoredAccount]

    /// Returns accounts sorted by lower-case email address, for the operator.
    ///
    /// - Parameters:
    ///   - prefix: The start of the addresses. Only ASCII letters are compared without regard to case.
    ///   - email: The address after which to start, or nil to start with the first.
    ///   - limit: The most accounts to return.
    func accounts(startingWith prefix: String, after email: String?, limit: Int) async throws -> [StoredAccount]

    /// Adds an account and its first session, and spends the invitation if there is one.
    ///
    /// - Parameters:
    ///   - account: The account.
    ///   - session: Its first session.
    ///   - use: The use of the token that proves the account's first identity. Nil: the account has a password.
    ///   - invitation: Nil if none is needed.
    ///   - date: The current time.
    /// - Throws: ``AuthRefusal`` if the invitation is not valid, the address is taken, or the token was spent.
    ///   ``IdentityTaken`` if an account has the identity. The store is then unchanged.
    func add(
        _ account: StoredAccount, _ session: SessionRecord, by use: IdentityUse?,
        spending invitation: OneTimeToken?, at date: Date) async throws

    /// Adds an account without a session.
    ///
    /// - Throws: ``AuthRefusal`` if the address is taken.
    func add(_ account: StoredAccount, at date: Date) async throws

    // MARK: - Sessions

    /// Adds a session, and ends the sessions that it replaces.
    ///
    /// - Parameters:
    ///   - session: The new session.
    ///   - account: The account as it was when its password or identity was checked.
    ///   - use: The use of the token that proves the identity. Nil: the password was checked.
    ///   - isOnlyOne: Whether to end all other sessions of the account, or only the sessions of the same device.
    /// - Returns: The ids of the ended sessions. Nil, with nothing stored, if the account was deleted, its password
    ///   changed, or the identity was given or taken away in between.
    /// - Throws: ``AuthRefusal`` if the token was spent.
    func begin(
        _ session: SessionRecord, of account: StoredAccount, by use: IdentityUse?, isOnlyOne: Bool
    ) async throws -> [String]?
    /// Returns a session, even if it has ended.
    func session(account: String, id: String) async throws -> SessionRecord?
    /// Changes a session under the account's lock and stores the result.
    ///
    /// - Parameters:
    ///   - account: The account's id.
    ///   - id: The session's id.
    ///   - change: May run more than once, so it must not have other effects. If it throws, nothing is stored.
    /// - Returns: The stored session and the result of `change`, or nil if there is no such session.
    func change<Value: Sendable>(
        account: String, session id: String, _ change: @escaping @Sendable (inout SessionRecord) throws -> Value
    ) async throws -> (record: SessionRecord, value: Value)?
    /// Returns the account's sessions that have not ended, the most recently refreshed first.
    ///
    /// - Parameters:
    ///   - account: The account's id.
    ///   - time: Sessions last refreshed before this time have expired and are left out.
    func sessions(of account: String, refreshedSince time: Double) async throws -> [SessionRecord]
    /// By account. May omit accounts without sessions.
    func sessionCounts(refreshedSince time: Double) async throws -> [String: Int]
    func forgetSessions(refreshedBefore time: Double) async throws

    // MARK: - Passwords and deletion

    /// Sets an account's password, removes all its reset tokens, and ends its other sessions.
    ///
    /// - Parameters:
    ///   - account: The account as it was when the old password or the reset token was checked.
    ///   - password: The hash of the new password.
    ///   - session: The session to keep, or nil to end all.
    ///   - reset: A token that must be valid and is spent. Nil if none is needed.
    ///   - time: The current time.
    /// - Returns: The ids of the ended sessions. Nil, with nothing stored, if the account was deleted, its password
    ///   changed in between, or the token is no longer valid.
    func setPassword(
        of account: StoredAccount, to password: String, keeping session: String?, spending reset: OneTimeToken?,
        at time: Double
    ) async throws -> [String]?
    /// Deletes an account and its sessions. Its data can then no longer be read or written, but its rows stay until
    /// ``erase(account:)`` removes them. A ``DeletionReceipt`` lets its devices learn of the deletion until
    /// ``forgetAccounts(deletedBefore:spacesDeletedBefore:)``.
    ///
    /// - Parameters:
    ///   - id: The account's id.
    ///   - account: The account as it was when its password was checked, or nil to ignore its password.
    ///   - time: The current time.
    /// - Returns: The ids of its sessions. Nil, with nothing stored, if the account does not exist or its password has
    ///   changed.
    func delete(account id: String, if account: StoredAccount?, at time: Double) async throws -> [String]?
    /// The accounts of the spaces whose members or former members include a person.
    func spaces(of person: String) async throws -> [String]
    /// The accounts of spaces that have ended because all members left, at most 1,000. They stay until
    /// ``delete(ended:at:)``.
    func endedSpaces() async throws -> [String]
    /// Deletes a space as ``delete(space:at:)``, unless it has a member again.
    ///
    /// - Returns: Whether it is deleted.
    func delete(ended space: String, at time: Double) async throws -> Bool
    /// Deletes a space without members, as ``delete(account:if:at:)`` deletes a person's account. Does nothing if it
    /// does not exist.
    func delete(space: String, at time: Double) async throws
    /// The audit of a space, newest event first. Also of a deleted space, until it is forgotten.
    ///
    /// - Parameters:
    ///   - space: The account of the space.
    ///   - place: The place of an event, before which to start. Nil starts with the newest.
    ///   - limit: The most events to return.
    func events(of space: String, before place: LogPosition?, limit: Int) async throws -> [AuditedEvent]
    func isDeleted(account: String) async throws -> Bool
    /// Returns the receipts of deleted accounts, oldest first.
    ///
    /// - Parameter account: The id of an account, or nil for all.
    func receipts(of account: String?) async throws -> [DeletionReceipt]
    func accountsToErase() async throws -> [String]
    /// Removes a deleted account's data, in transactions of at most 2,000 rows, so that other accounts can write in
    /// between. If the server stops early, a later call removes the rest. The former members and the audit of a space
    /// stay until it is forgotten.
    func erase(account: String) async throws
    /// Forgets deleted accounts that have been erased.
    ///
    /// - Parameters:
    ///   - time: Forgets persons deleted before this time.
    ///   - spaceTime: Forgets spaces deleted before this time.
    func forgetAccounts(deletedBefore time: Double, spacesDeletedBefore spaceTime: Double) async throws

    // MARK: - Invitations and reset tokens

    func keep(invitation: OneTimeToken, until end: Double) async throws
    /// Whether an invitation is known, unused and not expired.
    func holds(invitation: OneTimeToken, at time: Double) async throws -> Bool
    /// The account's other tokens stay valid. Otherwise anyone who knows an address could invalidate a token that an
    /// operator has handed out.
    func keep(reset: OneTimeToken, until end: Double) async throws
    /// Returns nil if the token is unknown, used or expired.
    func account(reset: OneTimeToken, at time: Double) async throws -> StoredAccount?
    func forgetTokens(endedBefore time: Double) async throws
}

extension AccountStore {
    func setPassword(
        of account: StoredAccount, to password: String, keeping session: String?, at time: Double
    ) async throws -> [String]? {
        try await setPassword(of: account, to: password, keeping: session, spending: nil, at: time)
    }
}
