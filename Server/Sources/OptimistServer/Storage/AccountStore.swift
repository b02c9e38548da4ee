// This source file is part of the Optimist open source project, under the MIT licence.

package import Foundation

/// An account without its rows and sessions.
package struct StoredAccount: Hashable, Sendable {
    package var id: String
    /// The email address as the user wrote it.
    package var email: String
    /// The hash of the password.
    package var password: String

    package init(id: String, email: String, password: String) {
        self.id = id
        self.email = email
        self.password = password
    }
}

/// The interface between the accounts' rules and a database. Times are seconds since 1970.
///
/// A function returns once its writes are durable. Each change of one account, session or token is one transaction: if
/// the function throws, nothing of it is stored, unless the error is a ``StorageFailure`` that says otherwise. The
/// functions that erase and forget may use many transactions, and leave the rest for the next call if they throw.
package protocol AccountStore: Sendable {
    /// The account with an email address, or nil. Upper and lower case count as equal in ASCII letters, and in no others.
    func account(email: String) async throws -> StoredAccount?
    /// The account with an id. Nil: there is none, or it was deleted.
    func account(id: String) async throws -> StoredAccount?
    /// All accounts, sorted by email address, for the operator.
    func accounts() async throws -> [StoredAccount]

    /// Some accounts, sorted by email address in lower case, for the operator.
    ///
    /// - Parameters:
    ///   - prefix: How their addresses begin. Upper and lower case count as equal in ASCII letters.
    ///   - email: The address after which the accounts begin. Nil: the first one.
    ///   - limit: The most accounts to return.
    func accounts(startingWith prefix: String, after email: String?, limit: Int) async throws -> [StoredAccount]

    /// Adds an account and its first session, and uses up the invitation, if there is one.
    ///
    /// - Throws: ``AuthRefusal`` if the invitation is not valid or the address is taken. Then nothing is stored.
    func add(
        _ account: StoredAccount, _ session: SessionRecord, spending invitation: OneTimeToken?, at date: Date)
        async throws

    // MARK: - Sessions

    /// Adds a session, and ends those that it replaces.
    ///
    /// - Parameters:
    ///   - session: The new session.
    ///   - account: The account as it was read when its password was checked.
    ///   - isOnlyOne: Whether it ends every other session of the account, or only those of the same device.
    /// - Returns: The ids of the sessions that ended. Nil, and nothing is stored, if the account was deleted or its password
    ///   changed meanwhile.
    func begin(_ session: SessionRecord, of account: StoredAccount, isOnlyOne: Bool) async throws -> [String]?
    /// A session, also one that has ended. Nil: there is none with this id.
    func session(account: String, id: String) async throws -> SessionRecord?
    /// Lets `change` change a session under the account's lock, and stores the result.
    ///
    /// - Parameters:
    ///   - account: The account's id.
    ///   - id: The session's id.
    ///   - change: Must have no other effect: it may run more than once. If it throws, nothing is stored.
    /// - Returns: The stored session and the result of `change`. Nil: there is no such session.
    func change<Value: Sendable>(
        account: String, session id: String, _ change: @escaping @Sendable (inout SessionRecord) throws -> Value
    ) async throws -> (record: SessionRecord, value: Value)?
    /// The account's sessions that have not ended, the last refreshed first.
    ///
    /// - Parameters:
    ///   - account: The account's id.
    ///   - time: Sessions that were last refreshed before it have expired, and are left out.
    func sessions(of account: String, refreshedSince time: Double) async throws -> [SessionRecord]
    /// How many sessions that have not ended each account has. Accounts without any may be left out.
    func sessionCounts(refreshedSince time: Double) async throws -> [String: Int]
    /// Removes the sessions that were last refreshed before a time.
    func forgetSessions(refreshedBefore time: Double) async throws

    // MARK: - Passwords and the end

    /// Gives an account another password, removes all its reset tokens, and ends its other sessions.
    ///
    /// - Parameters:
    ///   - account: The account as it was read when the old password or the reset token was checked.
    ///   - password: The hash of the new password.
    ///   - session: The session that goes on. Nil: none does.
    ///   - reset: A token that must be valid, and is used up. Nil: no token is needed.
    ///   - time: The present time.
    /// - Returns: The ids of the sessions that ended. Nil, and nothing is stored, if the account was deleted, its password
    ///   changed meanwhile, or the token is no longer valid.
    func setPassword(
        of account: StoredAccount, to password: String, keeping session: String?, spending reset: OneTimeToken?,
        at time: Double
    ) async throws -> [String]?
    /// Removes an account with its sessions. From then on nothing of it can be read or written. Its rows stay until
    /// ``erase(account:)`` removes them.
    ///
    /// A ``DeletionReceipt`` stays until ``forgetAccounts(deletedBefore:)``, so that its devices learn that the account was
    /// deleted.
    ///
    /// - Parameters:
    ///   - id: The account's id.
    ///   - account: The account as it was read when its password was checked. Nil: its password does not matter.
    ///   - time: The present time.
    /// - Returns: The ids of its sessions. Nil, and nothing is stored, if the account is gone or its password has changed.
    func delete(account id: String, if account: StoredAccount?, at time: Double) async throws -> [String]?
    /// Whether an account with this id was deleted, and is not forgotten yet.
    func isDeleted(account: String) async throws -> Bool
    /// The receipts of deleted accounts that are not forgotten yet, the oldest first.
    ///
    /// - Parameter account: The id of the only account that is asked for. Nil: all.
    func receipts(of account: String?) async throws -> [DeletionReceipt]
    /// The ids of deleted accounts that still have data.
    func accountsToErase() async throws -> [String]
    /// Removes a deleted account's data, at most 2,000 rows in each transaction, so that other accounts can write in
    /// between. If the server stops before the end, a later call removes the rest.
    func erase(account: String) async throws
    /// Forgets the accounts that were deleted before a time and have been erased.
    func forgetAccounts(deletedBefore time: Double) async throws

    // MARK: - Invitations and reset tokens

    /// Keeps an invitation, which expires at `end`.
    func keep(invitation: OneTimeToken, until end: Double) async throws
    /// Whether an invitation is valid: it is known, was not used, and has not expired.
    func holds(invitation: OneTimeToken, at time: Double) async throws -> Bool
    /// Keeps a reset token, which expires at `end`. The account's other tokens stay valid. Otherwise a stranger who knows an
    /// address could invalidate the token that an operator has handed out.
    func keep(reset: OneTimeToken, until end: Double) async throws
    /// The account whose password a token resets. Nil: the token is unknown, was used, or has expired.
    func account(reset: OneTimeToken, at time: Double) async throws -> StoredAccount?
    /// Removes the tokens that expired before a time.
    func forgetTokens(endedBefore time: Double) async throws
}

extension AccountStore {
    func setPassword(
        of account: StoredAccount, to password: String, keeping session: String?, at time: Double
    ) async throws -> [String]? {
        try await setPassword(of: account, to: password, keeping: session, spending: nil, at: time)
    }
}
