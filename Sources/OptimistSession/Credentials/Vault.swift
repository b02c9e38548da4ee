// This source file is part of the Optimist open source project, under the MIT licence.

import Foundation

/// The one place that writes credentials, one at a time, so that what is late cannot undo what is newer.
actor Vault {
    private let store: any CredentialStore
    private var latest = Stamp(epoch: 0, generation: 0)

    init(_ store: any CredentialStore) { self.store = store }

    func load() throws -> Credentials? { try store.load() }

    func lease(at now: Date) throws -> CredentialLease? { try store.lease(at: now) }

    func installID(orKeep new: UUID) throws -> UUID { try store.installID(orKeep: new) }

    /// Stores credentials, unless something newer was stored or erased since they were asked for.
    ///
    /// - Returns: Whether they are stored.
    func save(_ credentials: Credentials, as stamp: Stamp) throws -> Bool {
        guard stamp > latest else { return false }
        try store.save(credentials)
        latest = stamp
        return true
    }

    /// Erases everything up to the end of an epoch, unless a later one has begun.
    func erase(upTo epoch: Int) throws {
        guard epoch >= latest.epoch else { return }
        latest = Stamp(epoch: epoch, generation: .max)
        try store.erase()
    }
}
