// This source file is part of the Optimist open source project, under the MIT licence.

import Foundation

/// The one place that writes credentials, one at a time, so that what is late cannot undo what is newer, nor what another
/// process of the app has kept in the same store.
actor Vault {
    private let store: any CredentialStore
    private var latest = Stamp(epoch: 0, generation: 0)
    /// Whose credentials this process has had. Nil: it has asked for none yet.
    private var account: Account?

    init(_ store: any CredentialStore) { self.store = store }

    func restore() throws -> Credentials? {
        let credentials = try store.load()
        account = credentials?.account
        return credentials
    }

    /// What has become of credentials in a store that several processes share.
    enum Fate {
        /// They are there, or the store cannot be read now.
        case kept
        /// Another process has renewed them.
        case renewed(Credentials)
        /// Another process has signed out, or has signed in somebody else.
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

    func installID(orKeep new: UUID) throws -> UUID { try store.installID(orKeep: new) }

    /// Stores credentials, unless something newer was stored or erased since they were asked for.
    ///
    /// - Returns: Whether they are stored.
    func save(_ credentials: Credentials, as stamp: Stamp) throws -> Bool {
        guard stamp > latest else { return false }
        try store.save(credentials)
        latest = stamp
        account = credentials.account
        return true
    }

    /// Erases what this process has signed in with, unless a later epoch has begun.
    func signOut(upTo epoch: Int) throws {
        try erase(upTo: epoch) { [account] in account == nil || $0.account == account }
    }

    /// Erases credentials that have ended, unless a later epoch has begun.
    func erase(_ ended: Credentials, upTo epoch: Int) throws {
        try erase(upTo: epoch) { $0.refreshToken == ended.refreshToken }
    }

    private func erase(upTo epoch: Int, if isOurs: (Credentials) -> Bool) throws {
        guard epoch >= latest.epoch else { return }
        latest = Stamp(epoch: epoch, generation: .max)
        // What cannot be read is of no use to anyone.
        if case .success(let stored?) = Result(catching: store.load), !isOurs(stored) { return }
        try store.erase()
    }
}
