// This source file is part of the Optimist open source project, under the MIT licence.

import Foundation
package import OptimistCore
import OptimistWire

/// An operator's order, from `optimist account …`, `optimist space …` or `optimist health --remove`.
package enum AccountOrder: Codable, Hashable, Sendable {
    case list
    case invite(days: Int)
    /// The token resets the password once, within an hour.
    case reset(email: String)
    case sessions(email: String)
    /// The sessions end with the reason `revoked`. A nil session means all sessions.
    case endSessions(email: String, session: String?)
    /// Keeps a receipt.
    ///
    /// - Parameter ownerless: Nil: as the server is configured.
    case delete(email: String, ownerless: OwnerlessSpaces? = nil)
    /// Oldest first.
    case receipts
    case space(SpaceOrder)
    case key(ServiceKeyOrder)
    case webhook(WebhookOrder)
    /// Also removes its totals.
    case removeSignature(app: String, id: String)
}

extension OptimistError.Code {
    /// The account, its session, its address, or the app's signature does not exist.
    package static let notFound = Self("account.notFound")
}

extension Accounts {
    /// - Throws: ``OptimistError`` with code `account.notFound`, or of an order about spaces.
    func carryOut(_ order: AccountOrder) async throws -> JSON {
        switch order {
        case .list:
            let counts = try await store.sessionCounts(refreshedSince: time - settings.refreshLifetimeSeconds)
            return [
                "accounts": .array(
                    try await store.accounts().map { account in
                        [
                            "id": .string(account.id), "email": .string(account.email),
                            "sessions": .int(Int64(counts[account.id] ?? 0)),
                        ]
                    })
            ]
        case .invite(let days):
            let (token, end) = (OneTimeToken(for: .invitation), time + Double(days) * 86_400)
            try await store.keep(invitation: token, until: end)
            return ["invitation": .string(token.text), "expiresAt": .string(Date(timeIntervalSince1970: end).utcText)]
        case .reset(let email):
            guard let reset = try await makeReset(email: email) else { throw OptimistError.noAccount }
            return ["token": .string(reset.token), "expiresAt": .string(reset.expiresAt.utcText)]
        case .sessions(let email):
            return ["sessions": .array(try await sessions(of: try await account(email).id, asking: nil))]
        case .endSessions(let email, let session):
            return ["ended": .int(Int64(try await endSessions(of: try await account(email).id, only: session)))]
        case .delete(let email, let ownerless):
            let id = try await account(email).id
            guard try await delete(id, if: nil, nil, ownerless: ownerless),
                let receipt = try await receipts(of: id).first
            else {
                throw OptimistError.noAccount
            }
            return ["deleted": .string(email), "receipt": receipt]
        case .receipts:
            return ["receipts": .array(try await receipts(of: nil))]
        case .space(let order): return try await carryOut(order)
        case .key(let order): return try await carryOut(order)
        case .webhook(let order): return try await carryOut(order)
        case .removeSignature(let app, let id):
            guard try await health.remove(signature: id, of: app) else {
                throw OptimistError(
                    .notFound,
                    "The app does not have this signature. `optimist health` lists all signatures with their ids.")
            }
            return ["removed": .string(id)]
        }
    }

    func receipts(of account: String?) async throws -> [JSON] {
        try await store.receipts(of: account).map { $0.json(keptFor: receiptLifetime) }
    }

    func account(_ email: String) async throws -> StoredAccount {
        guard let address = EmailAddress(email), let account = try await store.account(email: address.text) else {
            throw OptimistError.noAccount
        }
        return account
    }

    private func endSessions(of account: String, only session: String?) async throws -> Int {
        if let session {
            guard try await revoke(account: account, session: session) else {
                throw OptimistError(
                    .notFound, "The account does not have this session. `optimist account sessions` lists its sessions."
                )
            }
            return 1
        }
        let sessions = try await store.sessions(of: account, refreshedSince: 0)
        for session in sessions { try await revoke(account: account, session: session.id) }
        return sessions.count
    }
}

extension OptimistError {
    package static var noAccount: Self {
        OptimistError(.notFound, "No account uses this address. `optimist account list` lists all accounts.")
    }

    static var noAddress: Self {
        OptimistError(
            .notFound,
            "This account does not have an email address, so its user can sign in only with its identities.")
    }
}
