// This source file is part of the Optimist open source project, under the MIT licence.

import Foundation

/// The one place that writes credentials, one at a time, so that what is late cannot undo what is newer, nor what another
/// process of the app has kept in the same store.
actor Vault {
    private let store: any CredentialStore
    private var latest = Stamp(epoch: 0, generation: 0)
    private var owner = Owner.unknown

    /// Whose credentials this process has had.
    private enum Owner: Equatable {
        /// It has asked for none yet, or could not read them.
        case unknown
        case nobody
        case account(Account)
    }

    init(_ store: any CredentialStore) { self.store = store }

    func restore() throws -> Credentials? {
        let credentials = try store.load()
        owner = credentials.map { .account($0.account) } ?? .nobody
        return credentials
    }

    /// The fate of credentials in a store that several processes share.
    enum Fate {
        /// They are there, or the store cannot be read now.
        case kept
        /// Another process has renewed them.
        case renewed(Credentials)
        /// Another process has signed out, or has signed in another user.
        case ended(SignOutReason)
    }

    func fate(of credentials: Credentials) -> Fate {
        let stored: Credentials?
        do { stored = try store.load() } catch { return .kept }
        guard let stored else { return .ended(.signedOut) }
        guard stored.account == credentials.account, stored.origin == credentials.origin else {
            return .ended(.replaced)
        }
        return stored.refreshToken == credentials.refreshToken ? .kept : .renewed(stored)
    }

    func lease(at now: Date) throws -> CredentialLease? { try store.lease(at: now) }

    func installID(storingIfMissing new: UUID) throws -> UUID { try store.installID(storingIfMissing: new) }

    /// Stores credentials, unless something newer was stored or erased since they were asked for.
    ///
    /// - Returns: Whether they are stored.
    func save(_ credentials: Credentials, as stamp: Stamp) throws -> Bool {
        guard stamp > latest else { return false }
        try store.save(credentials)
        latest = stamp
        owner = .account(credentials.account)
        return true
    }

    /// Stores what follows credentials, unless another process has made something else of those meanwhile.
    func save(_ next: Credentials, after former: Credentials, as stamp: Stamp) throws -> Fate {
        let fate = fate(of: former)
        if case .kept = fate { _ = try save(next, as: stamp) }
        return fate
    }

    /// Erases the credentials that this process has signed in with, or that cannot be read, unless a later epoch has
    /// begun.
    func signOut(upTo epoch: Int) throws {
        guard close(upTo: epoch) else { return }
        if owner != .unknown, case .success(let stored?) = Result(catching: store.load),
            owner != .account(stored.account)
        {
            return
        }
        try store.erase()
    }

    /// Erases credentials that have ended, unless a later epoch has begun. Others, and what cannot be read now, stay.
    func erase(_ ended: Credentials, upTo epoch: Int) throws {
        guard close(upTo: epoch) else { return }
        if try store.load()?.refreshToken == ended.refreshToken { try store.erase() }
    }

    /// Nothing of an epoch is stored from now on, nor of those before it. False: a later one has begun.
    private func close(upTo epoch: Int) -> Bool {
        guard epoch >= latest.epoch else { return false }
        latest = Stamp(epoch: epoch, generation: .max)
        return true
    }
}
