// This source file is part of the Optimist open source project, under the MIT licence.

import Foundation
import OptimistWire

extension Accounts {
    /// The requesting session continues; all others end with `password_changed`.
    func changePassword(
        _ identity: Identity, from old: String, to new: String, _ caller: Caller
    ) async throws {
        try await refusing(as: .passwordRefused, caller, about: Subject(identity)) { _ in
            let account = try await confirm(identity, password: old, caller)
            try PasswordRules.check(new, email: account.email)
            let hash = try await hash(new)
            guard
                let ended = try await store.setPassword(of: account, to: hash, keeping: identity.session, at: time)
            else { throw AuthRefusal.wrongOwnPassword }
            log.note(.passwordChanged, caller, account: account.id, session: identity.session)
            for session in ended { announce(account.id, session, .passwordChanged, caller) }
        }
    }

    /// All devices of the account learn `account_deleted`.
    func deleteAccount(_ identity: Identity, password: String, _ caller: Caller) async throws {
        try await refusing(as: .passwordRefused, caller, about: Subject(identity)) { _ in
            let account = try await confirm(identity, password: password, caller)
            guard try await delete(account.id, if: account, caller) else { throw AuthRefusal.wrongOwnPassword }
        }
    }

    /// - Parameter ownerless: Nil: as the server is configured.
    func delete(
        _ id: String, if account: StoredAccount?, _ caller: Caller?, by key: ServiceKey? = nil,
        ownerless: OwnerlessSpaces? = nil
    ) async throws -> Bool {
        guard let sessions = try await store.delete(account: id, if: account, at: time) else { return false }
        log.note(.accountDeleted, caller, account: id, serviceKey: key?.id)
        for session in sessions { announce(id, session, .accountDeleted, caller) }
        try await erase(id, ownerless: ownerless)
        return true
    }

    private func erase(_ account: String, ownerless: OwnerlessSpaces? = nil) async throws {
        try await leaveSpaces(account, ownerless: ownerless)
        try await store.erase(account: account)
        try await store.forgetPositions(in: account)
    }

    /// Continues interrupted erasures, and forgets accounts whose receipts have expired.
    func eraseDeleted() async throws {
        for account in try await store.accountsToErase() { try await erase(account) }
        try await store.forgetAccounts(
            deletedBefore: time - receiptLifetime, spacesDeletedBefore: time - Self.spaceMemory)
    }

    /// In seconds. For this time after a space was deleted, its former members learn that it ended, and no other space
    /// has its id.
    static let spaceMemory = 365.0 * 86_400

    /// In seconds. After this time, devices no longer ask about a deleted account.
    var receiptLifetime: Double { 2 * settings.refreshLifetimeSeconds }

    // MARK: - Sessions

    /// - Parameter session: The session that asks.
    func sessions(of account: String, asking session: String?) async throws -> [JSON] {
        try await store.sessions(of: account, refreshedSince: time - settings.refreshLifetimeSeconds).map { record in
            [
                "id": .string(record.id), "device": .string(record.deviceName),
                "signedInAt": record.begunAt.map { .string(Date(timeIntervalSince1970: $0).utcText) } ?? .null,
                "lastUsedAt": .string(Date(timeIntervalSince1970: record.refreshedAt).utcText),
                "isCurrent": .bool(record.id == session),
            ]
        }
    }
}

extension Accounts.Subject {
    init(_ identity: Accounts.Identity) {
        self.init(account: identity.account, session: identity.session)
    }
}
