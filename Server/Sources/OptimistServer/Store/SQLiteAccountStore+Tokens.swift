// This source file is part of the Optimist open source project, under the MIT licence.

import Foundation
import GRDB

/// Invitations and reset tokens: their hashes and expiry times, in seconds since 1970.
extension SQLiteAccountStore {
    func keep(invitation: OneTimeToken, until end: Double) async throws {
        try await commits.write { db in
            try db.execute(
                sql: "INSERT INTO optimist_invitations (hash, ends_at) VALUES (?, ?)",
                arguments: [invitation.hash, end])
        }
    }

    func holds(invitation: OneTimeToken, at time: Double) async throws -> Bool {
        try await reader.read { db in
            try Bool.fetchOne(
                db, sql: "SELECT EXISTS (SELECT 1 FROM optimist_invitations WHERE hash = ? AND ends_at > ?)",
                arguments: [invitation.hash, time]) ?? false
        }
    }

    /// - Returns: Whether the token was valid.
    func spend(invitation: OneTimeToken, at time: Double, _ db: Database) throws -> Bool {
        try db.execute(
            sql: "DELETE FROM optimist_invitations WHERE hash = ? AND ends_at > ?", arguments: [invitation.hash, time])
        return db.changesCount == 1
    }

    func keep(reset: OneTimeToken, until end: Double) async throws {
        try await commits.write { db in
            try db.execute(
                sql: "INSERT INTO optimist_resets (account_id, hash, ends_at) VALUES (?, ?, ?)",
                arguments: [reset.account, reset.hash, end])
        }
    }

    func account(reset: OneTimeToken, at time: Double) async throws -> StoredAccount? {
        let isGood = try await reader.read { db in
            try Bool.fetchOne(
                db,
                sql: """
                    SELECT EXISTS (SELECT 1 FROM optimist_resets WHERE account_id = ? AND hash = ? AND ends_at > ?)
                    """, arguments: [reset.account, reset.hash, time])
        }
        return isGood == true ? try await account(id: reset.account) : nil
    }

    /// - Returns: Whether the token was valid.
    func spend(reset: OneTimeToken, at time: Double, _ db: Database) throws -> Bool {
        try db.execute(
            sql: "DELETE FROM optimist_resets WHERE account_id = ? AND hash = ? AND ends_at > ?",
            arguments: [reset.account, reset.hash, time])
        return db.changesCount == 1
    }

    func forgetTokens(endedBefore time: Double) async throws {
        try await commits.write { db in
            try db.execute(sql: "DELETE FROM optimist_invitations WHERE ends_at <= ?", arguments: [time])
            try db.execute(sql: "DELETE FROM optimist_resets WHERE ends_at <= ?", arguments: [time])
        }
    }
}
