// This source file is part of the Optimist open source project, under the MIT licence.

import Foundation
import OptimistServer

extension PostgresAccountStore {
    func account(of identity: ProviderIdentity) async throws -> StoredAccount? {
        let owner = try await pool.run { try Self.owner(of: identity, $0) }
        return if let owner { try await account(id: owner) } else { nil }
    }

    func identities(of account: String) async throws -> [LinkedIdentity] {
        try await pool.run { try Self.identities(of: account, $0) }
    }

    func link(_ use: IdentityUse, to account: String, maxCount: Int) async throws -> Bool {
        let isLinked = try await locking(account) { _, connection in
            guard try Self.identities(of: account, connection).count < maxCount else { return false }
            return try Self.accept(use, for: account, connection)
        }
        return isLinked ?? false
    }

    func unlink(
        _ id: String, from account: String,
        if canSignIn: @escaping @Sendable (StoredAccount, [ProviderIdentity]) -> Bool
    ) async throws -> ProviderIdentity? {
        try await locking(account) { stored, connection in
            let all = try Self.identities(of: account, connection).map(\.identity)
            guard let gone = all.first(where: { $0.id == id }) else { return nil }
            guard canSignIn(stored, all.filter { $0 != gone }) else { throw AuthRefusal.lastWayIn }
            try connection.enqueue(IdentityStatement.drop, [.text(gone.issuer), .text(gone.subject)])
            return gone
        }
    }

    func spend(_ token: SpentToken) async throws { try await pool.run { try Self.spend(token, $0) } }

    func forgetSpentTokens(endedBefore time: Double) async throws {
        try await pool.run { _ = try $0.query(IdentityStatement.forgetSpent, [.double(time)]) }
    }

    /// Spends the token, and gives the identity to the account if it is new.
    ///
    /// - Returns: Whether the account now has the identity. If not, the transaction must not be committed.
    static func accept(_ use: IdentityUse, for account: String, _ connection: PostgresConnection) throws -> Bool {
        let identity = use.linked.identity
        if use.isNew {
            let added = try connection.query(IdentityStatement.add, use.linked.values(of: account))
            guard added.changedCount == 1 else { return false }
        } else if try owner(of: identity, connection) != account {
            return false
        }
        try spend(use.token, connection)
        return true
    }

    private static func spend(_ token: SpentToken, _ connection: PostgresConnection) throws {
        let spent = try connection.query(
            IdentityStatement.spend, [.bytes(Array(token.hash)), .double(token.endsAt)])
        guard spent.changedCount == 1 else { throw AuthRefusal.usedToken }
    }

    private static func owner(of identity: ProviderIdentity, _ connection: PostgresConnection) throws -> String? {
        let rows = try connection.query(
            IdentityStatement.owner, [.text(identity.issuer), .text(identity.subject)])
        return rows.count == 0 ? nil : rows.text(0, 0)
    }

    static func identities(of account: String, _ connection: PostgresConnection) throws -> [LinkedIdentity] {
        let rows = try connection.query(IdentityStatement.ofAccount, [.text(account)])
        return (0..<rows.count).map { row in
            LinkedIdentity(
                ProviderIdentity(issuer: rows.text(row, 0), subject: rows.text(row, 1)), linkedAt: rows.double(row, 2))
        }
    }
}

extension LinkedIdentity {
    func values(of account: String) -> [PostgresValue] {
        [.text(identity.issuer), .text(identity.subject), .text(account), .double(linkedAt)]
    }
}

/// The statements about identities and spent tokens. Their tables do not belong to one account, because an identity is
/// unique on the server.
enum IdentityStatement: String, PostgresStatement, CaseIterable {
    case owner, ofAccount, add, drop, dropAll, spend, forgetSpent

    var sql: String {
        switch self {
        case .owner: "SELECT account_id FROM optimist_identities WHERE issuer = $1 AND subject = $2"
        case .ofAccount:
            """
            SELECT issuer, subject, linked_at FROM optimist_identities WHERE account_id = $1
            ORDER BY linked_at, issuer, subject
            """
        case .add:
            """
            INSERT INTO optimist_identities (issuer, subject, account_id, linked_at) VALUES ($1, $2, $3, $4)
            ON CONFLICT DO NOTHING
            """
        case .drop: "DELETE FROM optimist_identities WHERE issuer = $1 AND subject = $2"
        case .dropAll: "DELETE FROM optimist_identities WHERE account_id = $1"
        case .spend: "INSERT INTO optimist_spent_tokens (hash, ends_at) VALUES ($1, $2) ON CONFLICT DO NOTHING"
        case .forgetSpent: "DELETE FROM optimist_spent_tokens WHERE ends_at <= $1"
        }
    }
}
