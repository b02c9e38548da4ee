// This source file is part of the Optimist open source project, under the MIT licence.

import GRDB
import OptimistCore
import Synchronization

/// Whose file it is, and who may write in it (L2).
extension Store {
    /// The user who is signed in at this moment.
    var signedIn: SignedIn { whoIsSignedIn.withLock { $0 }.ask() }

    /// Asks at every write who is signed in. The last engine that asks for that counts.
    func follow(_ whoIsSignedIn: @escaping @Sendable () -> SignedIn) {
        self.whoIsSignedIn.withLock { $0 = SignedInQuestion(ask: whoIsSignedIn) }
    }

    /// Takes note of who is signed in, so that it holds in a later launch too, before an engine runs.
    func note(_ signedIn: SignedIn) async throws {
        let known = owner.withLock { $0 }
        if known.noticing(signedIn) != known { try await change { $0.notice(signedIn) } }
    }

    /// Binds the file to an account, or checks that it is the one that it is bound to.
    ///
    /// - Parameters:
    ///   - signedIn: The user who was signed in before the remote connected to the account.
    ///   - present: Returns who is now.
    /// - Throws: `OptimistError` with code `otherAccount`. ``RemoteFailure/unreachable(_:)`` if it is another one by now.
    func bind(
        to account: String, as signedIn: SignedIn = .unknown,
        present: @escaping @Sendable () -> SignedIn = { .unknown }
    ) async throws {
        let isBound = try await change { owner in
            guard present() == signedIn else {
                throw RemoteFailure.unreachable("another account has signed in, or out, meanwhile")
            }
            return owner.bind(to: account, as: signedIn)
        }
        if !isBound { throw FileOwner.isOthers }
    }

    /// Refuses what an account has written into another one's file. Called within the transaction.
    ///
    /// - Parameter author: The user who was signed in when the app wrote.
    /// - Throws: `OptimistError` with code `otherAccount`.
    func admit(_ author: SignedIn) throws {
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
