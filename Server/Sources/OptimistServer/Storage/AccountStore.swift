// This source file is part of the Optimist open source project, under the MIT licence.

package import Foundation

/// An account, as signing in sees it.
package struct StoredAccount: Hashable, Sendable {
    package var id: String
    package var email: String
    /// The hash of the password.
    package var password: String

    package init(id: String, email: String, password: String) {
        self.id = id
        self.email = email
        self.password = password
    }
}

/// The interface between signing in and a database. Times are seconds since 1970.
///
/// Each function is one transaction, and returns once what it wrote is durable. It throws the database's error, and nothing is
/// stored then.
package protocol AccountStore: Sendable {
    /// The account with an email address, in whatever case the address is written.
    func account(email: String) async throws -> StoredAccount?
    func account(id: String) async throws -> StoredAccount?
    /// All accounts by email address, for the operator.
    func accounts() async throws -> [StoredAccount]

    /// Adds an account and its first session, and uses up an invitation.
    ///
    /// - Throws: ``AuthRefusal`` if the invitation is not valid or the address is taken. Then nothing is stored.
    func add(
        _ account: StoredAccount, _ session: SessionRecord, spending invitation: OneTimeToken?, at date: Date)
        async throws

    // MARK: - Sessions

    /// Adds a session, and ends those that it takes the place of.
    ///
    /// - Parameters:
    ///   - session: The new session.
    ///   - account: Whose password was just checked.
    ///   - isOnlyOne: Whether it ends every other session of the account, or only those of the same device.
    /// - Returns: The ids of the sessions that ended. Nil, and nothing is stored: the account was deleted or given another
    ///   password meanwhile.
    func begin(_ session: SessionRecord, of account: StoredAccount, isOnlyOne: Bool) async throws -> [String]?
    func session(account: String, id: String) async throws -> SessionRecord?
    /// Lets `change` decide about a session under the account's lock, and stores what it decided. Nil: there is no such
    /// session.
    func change<Value: Sendable>(
        account: String, session id: String, _ change: @escaping @Sendable (inout SessionRecord) throws -> Value
    ) async throws -> (record: SessionRecord, value: Value)?
    /// The account's sessions that have not ended, the one that was used last first.
    ///
    /// - Parameters:
    ///   - account: The account's id.
    ///   - time: Those that were refreshed before it have lain too long.
    func sessions(of account: String, refreshedSince time: Double) async throws -> [SessionRecord]
    /// How many sessions that have not ended each account has. Accounts without any may be left out.
    func sessionCounts(refreshedSince time: Double) async throws -> [String: Int]
    /// Removes the sessions that were last refreshed before a time.
    func forgetSessions(refreshedBefore time: Double) async throws

    // MARK: - Passwords and the end

    /// Gives an account another password, makes its reset tokens worthless, and ends its other sessions.
    ///
    /// - Parameters:
    ///   - account: As it was read when the old password or the reset token was checked.
    ///   - password: The hash of the new password.
    ///   - session: The one that goes on. Nil: none does.
    ///   - reset: A token that this uses up.
    ///   - time: The present time.
    /// - Returns: The ids of the sessions that ended. Nil, and nothing is stored: the account or the token is not as it was.
    func setPassword(
        of account: StoredAccount, to password: String, keeping session: String?, spending reset: OneTimeToken?,
        at time: Double
    ) async throws -> [String]?
    /// Removes an account with its sessions. From then on nothing of it can be read or written. Its rows are still to be
    /// erased.
    ///
    /// Its id is remembered, for as long as its devices may ask what became of it.
    ///
    /// - Parameters:
    ///   - id: The account's id.
    ///   - account: As it was read when its password was checked. Nil: whatever its password is.
    ///   - time: The present time.
    /// - Returns: The ids of its sessions. Nil: it is no longer there, or has another password.
    func delete(account id: String, if account: StoredAccount?, at time: Double) async throws -> [String]?
    func isDeleted(account: String) async throws -> Bool
    /// Deleted accounts with some data left.
    func accountsToErase() async throws -> [String]
    /// Removes what a deleted account had, a few rows in each transaction: other accounts write in between. What is left when
    /// the server stops is removed after the next start.
    func erase(account: String) async throws
    /// Forgets accounts that were deleted before a time.
    func forgetAccounts(deletedBefore time: Double) async throws

    // MARK: - Invitations and reset tokens

    func keep(invitation: OneTimeToken, until end: Double) async throws
    func holds(invitation: OneTimeToken, at time: Double) async throws -> Bool
    /// Keeps a reset token. Those that the account has already stay good: else anybody who knows an address could make
    /// what an operator has handed out worthless.
    func keep(reset: OneTimeToken, until end: Double) async throws
    /// The account whose password a token resets. Nil: the token is unknown, or its time has passed.
    func account(reset: OneTimeToken, at time: Double) async throws -> StoredAccount?
    /// Removes the tokens whose time has passed.
    func forgetTokens(endedBefore time: Double) async throws
}

extension AccountStore {
    func setPassword(
        of account: StoredAccount, to password: String, keeping session: String?, at time: Double
    ) async throws -> [String]? {
        try await setPassword(of: account, to: password, keeping: session, spending: nil, at: time)
    }
}
