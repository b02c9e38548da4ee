// This source file is part of the Optimist open source project, under the MIT licence.

import GRDB
import OptimistCore

/// The file's owner, and whether another account is signed in (L2). Pure.
///
/// The file and the rows already in it belong to the first account that is signed in while an engine uses the file.
/// While no user is signed in, the app edits the owner's data. While another account is signed in, writes are refused,
/// because their owner could not be determined later.
struct FileOwner: Equatable, Sendable {
    /// The remote's name for the owner. Nil if unknown.
    private(set) var name: String?
    /// The account that the file syncs with: ``RemoteAccount/id``. Nil if it never connected.
    private(set) var account: String?
    /// The other account that is signed in, or was signed in at the remote's last report. Nil if there is none.
    private(set) var visitor: String?
    private(set) var isDeleted = false

    mutating func notice(_ signedIn: SignInState) {
        switch signedIn {
        case .unknown: break
        case .nobody: visitor = nil
        case .account(let present):
            if name == nil, account == nil || account == present { name = present }
            visitor = present == name ? nil : present
        }
    }

    mutating func noticeDeletion() {
        if account != nil, visitor == nil { isDeleted = true }
        notice(.nobody)
    }

    func noticing(_ signedIn: SignInState) -> FileOwner {
        var owner = self
        owner.notice(signedIn)
        return owner
    }

    /// Records the account that the remote connected to.
    ///
    /// - Parameter signedIn: The user who was signed in before and after the remote connected.
    /// - Returns: Whether the file may sync with that account.
    mutating func bind(to account: String, as signedIn: SignInState) -> Bool {
        notice(signedIn)
        if self.account == nil, visitor == nil { self.account = account }
        var present: String?
        if case .account(let name) = signedIn { present = name }
        guard self.account == account else {
            visitor = present ?? account
            return false
        }
        // An account's name may change, for example if it contains an address.
        if let present { name = present }
        visitor = nil
        isDeleted = false
        return true
    }

    static let isOthers = OptimistError(
        .otherAccount,
        """
        This file belongs to an account other than the signed-in one. Open a separate file for each account: \
        AccountFiles names them.
        """, remedy: .signIn)
}

extension FileOwner {
    init(in db: Database) throws {
        name = try Meta.string(.owner, in: db)
        account = try Meta.string(.account, in: db)
        visitor = try Meta.string(.visitor, in: db)
        isDeleted = try Meta.int(.accountDeleted, in: db) != nil
    }

    func save(in db: Database, before: FileOwner) throws {
        if name != before.name { try Meta.set(.owner, to: name, in: db) }
        if account != before.account { try Meta.set(.account, to: account, in: db) }
        if visitor != before.visitor { try Meta.set(.visitor, to: visitor, in: db) }
        if isDeleted != before.isDeleted { try Meta.set(.accountDeleted, to: isDeleted ? 1 : nil, in: db) }
    }
}
