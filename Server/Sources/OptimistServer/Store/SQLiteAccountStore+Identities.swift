// This source file is part of the Optimist open source project, under the MIT licence.

import Foundation
import GRDB

extension SQLiteAccountStore {
    func account(of identity: ProviderIdentity) async throws -> StoredAccount? {
        let account = try await reader.read { db in try Self.owner(of: identity, db) }
        return if let account { try await self.account(id: account) } else { nil }
    }

    func identities(of account: String) async throws -> [LinkedIdentity] {
        try await reader.read { db in try Self.identities(of: account, db) }
    }

    func link(_ use: IdentityUse, to account: String, maxCount: Int) async throws -> Bool {
        try await commits.write { db in
            guard try Self.storedAccount(account, db) != nil,
                try Self.identities(of: account, db).count < maxCount
            else { return false }
            return try accept(use, for: account, db)
        }
    }

    func unlink(
        _ id: String, from account: String,
        if canSignIn: @escaping @Sendable (StoredAccount, [ProviderIdentity]) -> Bool
    ) async throws -> ProviderIdentity? {
        try await commits.write { db in
            let all = try Self.identities(of: account, db).map(\.identity)
            guard let stored = try Self.storedAccount(account, db), let gone = all.first(where: { $0.id == id }) else {
                return nil
            }
            guard canSignIn(stored, all.filter { $0 != gone }) else { throw AuthRefusal.lastWayIn }
            try db.execute(
                sql: "DELETE FROM optimist_identities WHERE issuer = ? AND subject = ?",
                arguments: [gone.issuer, gone.subject])
            return gone
        }
    }

    func spend(_ token: SpentToken) async throws { try await commits.write { db in try spend(token, db) } }

    func forgetSpentTokens(endedBefore time: Double) async throws {
        try await commits.write { db in
            try db.execute(sql: "DELETE FROM optimist_spent_tokens WHERE ends_at <= ?", arguments: [time])
        }
    }

    /// Spends the token, and gives the identity to the account if it is new.
    ///
    /// - Returns: Whether the account now has the identity. If not, the token is not spent.
    func accept(_ use: IdentityUse, for account: String, _ db: Database) throws -> Bool {
        let identity = use.linked.identity
        let owner = try Self.owner(of: identity, db)
        guard use.isNew ? owner == nil : owner == account else { return false }
        try spend(use.token, db)
        if use.isNew {
            try db.execute(
                sql: "INSERT INTO optimist_identities (issuer, subject, account_id, linked_at) VALUES (?, ?, ?, ?)",
                arguments: [identity.issuer, identity.subject, account, use.linked.linkedAt])
        }
        return true
    }

    private func spend(_ token: SpentToken, _ db: Database) throws {
        try db.execute(
            sql: "INSERT INTO optimist_spent_tokens (hash, ends_at) VALUES (?, ?) ON CONFLICT DO NOTHING",
            arguments: [token.hash, token.endsAt])
        guard db.changesCount == 1 else { throw AuthRefusal(.used) }
    }

    private static func owner(of identity: ProviderIdentity, _ db: Database) throws -> String? {
        try String.fetchOne(
            db, sql: "SELECT account_id FROM optimist_identities WHERE issuer = ? AND subject = ?",
            arguments: [identity.issuer, identity.subject])
    }

    static func identities(of account: String, _ db: Database) throws -> [LinkedIdentity] {
        try Row.fetchAll(
            db,
            sql: """
                SELECT issuer, subject, linked_at FROM optimist_identities WHERE account_id = ?
                ORDER BY linked_at, issuer, subject
                """, arguments: [account]
        ).map { LinkedIdentity(ProviderIdentity(issuer: $0[0], subject: $0[1]), linkedAt: $0[2]) }
    }
}
