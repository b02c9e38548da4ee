// This source file is part of the Optimist open source project, under the MIT licence.

import GRDB
import OptimistCore

/// The file's owner (L2).
extension Store {
    var signedIn: SignInState { whoIsSignedIn.withLock { $0 }.ask() }

    /// Sets the closure that tells every write who is signed in. If several engines call this, the last call wins.
    func follow(_ whoIsSignedIn: @escaping @Sendable () -> SignInState) {
        self.whoIsSignedIn.withLock { $0 = SignedInQuestion(ask: whoIsSignedIn) }
    }

    /// Stores who is signed in, so that a later launch knows it before its engine runs.
    func note(_ signedIn: SignInState) async throws {
        let known = owner.withLock { $0 }
        if known.noticing(signedIn) != known { try await change { $0.notice(signedIn) } }
    }

    func noteAccountDeleted() async throws {
        if owner.withLock({ $0.isDeleted }) { return }
        try await change { $0.noticeDeletion() }
    }

    /// Binds the file to an account, or checks that it is already bound to this account.
    ///
    /// - Parameters:
    ///   - signedIn: The user who was signed in before the remote connected.
    ///   - present: Returns the current user.
    /// - Throws: `OptimistError` with code `otherAccount` if the file is bound to another account.
    ///   ``RemoteFailure/unreachable(_:)`` if a different user is signed in now.
    func bind(
        to account: String, as signedIn: SignInState = .unknown,
        present: @escaping @Sendable () -> SignInState = { .unknown }
    ) async throws {
        let isBound = try await change { owner in
            guard present() == signedIn else {
                throw RemoteFailure.unreachable("the signed-in account has changed")
            }
            return owner.bind(to: account, as: signedIn)
        }
        if !isBound { throw FileOwner.isOthers }
    }

    /// Refuses a write by an account that does not own the file. Called within the transaction.
    ///
    /// - Parameter author: The user who was signed in when the app wrote.
    /// - Throws: `OptimistError` with code `otherAccount`.
    func admit(_ author: SignInState) throws {
        let owner = owner.withLock { $0 }
        for person in [author, signedIn] where owner.noticing(person).visitor != nil { throw FileOwner.isOthers }
    }

    private func change<T: Sendable>(_ update: @escaping @Sendable (inout FileOwner) throws -> T) async throws -> T {
        let (value, after) = try await apply { db in
            let before = try FileOwner(in: db)
            var after = before
            let value = try update(&after)
            try after.save(in: db, before: before)
            return (value, after)
        }
        owner.withLock { $0 = after }
        return value
    }
}
