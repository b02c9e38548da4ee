// This source file is part of the Optimist open source project, under the MIT licence.

import Foundation

/// The only writer of credentials. It performs one write at a time. A late write cannot overwrite a newer one, nor the
/// credentials that another process has put into the same store.
actor Vault {
    private let store: any CredentialStore
    private var latest = Stamp(epoch: 0, generation: 0)
    private var owner = Owner.unknown

    /// The owner of the credentials this process last had.
    private enum Owner: Equatable {
        /// The credentials have not been loaded yet, or could not be read.
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

    /// What happened to credentials in a shared store.
    enum Fate {
        /// They are unchanged, or the store cannot be read right now.
        case kept
        case renewed(Credentials)
        /// Another process has signed out or signed in another user.
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

    /// Stores requested credentials, unless newer credentials were stored or erased in the meantime.
    ///
    /// - Returns: Whether the credentials were stored.
    func save(_ credentials: Credentials, as stamp: Stamp) throws -> Bool {
        guard stamp > latest else { return false }
        try store.save(credentials)
        latest = stamp
        owner = .account(credentials.account)
        return true
    }

    /// Stores the successor of `former`, unless another process has replaced or removed `former`.
    func save(_ next: Credentials, after former: Credentials, as stamp: Stamp) throws -> Fate {
        let fate = fate(of: former)
        if case .kept = fate { _ = try save(next, as: stamp) }
        return fate
    }

    /// Erases the credentials, unless a later epoch has begun or another process has signed in another account.
    /// Credentials that cannot be read are also erased.
    func signOut(upTo epoch: Int) throws {
        guard close(upTo: epoch) else { return }
        if owner != .unknown, case .success(let stored?) = Result(catching: store.load),
            owner != .account(stored.account)
        {
            return
        }
        try store.erase()
    }

    /// Erases the ended credentials, unless a later epoch has begun. Keeps the stored credentials if they are different
    /// or unreadable.
    func erase(_ ended: Credentials, upTo epoch: Int) throws {
        guard close(upTo: epoch) else { return }
        if try store.load()?.refreshToken == ended.refreshToken { try store.erase() }
    }

    /// Prevents further writes of this epoch and earlier ones. Returns false if a later epoch has begun.
    private func close(upTo epoch: Int) -> Bool {
        guard epoch >= latest.epoch else { return false }
        latest = Stamp(epoch: epoch, generation: .max)
        return true
    }
}
