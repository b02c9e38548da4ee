// This source file is part of the Optimist open source project, under the MIT licence.

import Foundation
import GRDB

struct SQLiteAccountStore: AccountStore {
    let reader: any DatabaseReader
    let commits: GroupCommit

    func account(email: String) async throws -> StoredAccount? {
        try await reader.read { db in
            try Row.fetchOne(
                db, sql: "SELECT account_id, email, password FROM optimist_accounts WHERE email = ?", arguments: [email]
            ).map(StoredAccount.init)
        }
    }

    func account(id: String) async throws -> StoredAccount? {
        try await reader.read { db in try Self.storedAccount(id, db) }
    }

    static func storedAccount(_ id: String, _ db: Database) throws -> StoredAccount? {
        try Row.fetchOne(
            db,
            sql: """
                SELECT account_id, email, password FROM optimist_accounts WHERE account_id = ? AND email IS NOT NULL
                """, arguments: [id]
        ).map(StoredAccount.init)
    }

    func accounts() async throws -> [StoredAccount] {
        try await reader.read { db in
            try Row.fetchAll(
                db,
                sql: """
                    SELECT account_id, email, password FROM optimist_accounts WHERE email IS NOT NULL ORDER BY email
                    """
            ).map(StoredAccount.init)
        }
    }

    func accounts(startingWith prefix: String, after email: String?, limit: Int) async throws -> [StoredAccount] {
        try await reader.read { db in
            try Row.fetchAll(
                db,
                sql: """
                    SELECT account_id, email, password FROM optimist_accounts
                    WHERE email >= ? AND email < ? AND email > ? ORDER BY email LIMIT ?
                    """, arguments: [prefix, prefix.endOfPrefix, email ?? "", limit]
            ).map(StoredAccount.init)
        }
    }

    func add(
        _ account: StoredAccount, _ session: SessionRecord, by use: IdentityUse?,
        spending invitation: OneTimeToken?, at date: Date
    ) async throws {
        try await commits.write { db in
            if let invitation, try !spend(invitation: invitation, at: date.timeIntervalSince1970, db) {
                throw AuthRefusal.invalidInvitation
            }
            try Self.add(account, at: date, db)
            if let use, try !accept(use, for: account.id, db) { throw IdentityTaken() }
            try save(session, db)
        }
    }

    func add(_ account: StoredAccount, at date: Date) async throws {
        try await commits.write { try Self.add(account, at: date, $0) }
    }

    private static func add(_ account: StoredAccount, at date: Date, _ db: Database) throws {
        try db.execute(
            sql: """
                INSERT INTO optimist_accounts (account_id, email, password, created_at) VALUES (?, ?, ?, ?)
                ON CONFLICT DO NOTHING
                """, arguments: [account.id, account.email, account.password, date.utcText])
        guard db.changesCount == 1 else { throw AuthRefusal.emailTaken }
    }

    func begin(
        _ session: SessionRecord, of account: StoredAccount, by use: IdentityUse?, isOnlyOne: Bool
    ) async throws -> [String]? {
        try await commits.write { db in
            guard try isUnchanged(account, db) else { return nil }
            if let use, try !accept(use, for: account.id, db) { return nil }
            let ended = try String.fetchAll(
                db,
                sql: """
                    UPDATE optimist_sessions SET ended = ? WHERE account_id = ? AND ended IS NULL
                    AND (? OR device_id = ?) RETURNING session_id
                    """,
                arguments: [SessionEnd.signedInElsewhere.rawValue, session.account, isOnlyOne, session.deviceID])
            try save(session, db)
            return ended
        }
    }

    func session(account: String, id: String) async throws -> SessionRecord? {
        try await reader.read { db in try find(account, id, db) }
    }

    func change<Value: Sendable>(
        account: String, session id: String, _ change: @escaping @Sendable (inout SessionRecord) throws -> Value
    ) async throws -> (record: SessionRecord, value: Value)? {
        try await commits.write { db in
            guard var record = try find(account, id, db) else { return nil }
            let former = record
            let value = try change(&record)
            if record != former { try save(record, db) }
            return (record, value)
        }
    }

    func forgetSessions(refreshedBefore time: Double) async throws {
        try await commits.write { db in
            try db.execute(sql: "DELETE FROM optimist_sessions WHERE refreshed_at < ?", arguments: [time])
        }
    }

    func isUnchanged(_ account: StoredAccount, _ db: Database) throws -> Bool {
        try String.fetchOne(
            db, sql: "SELECT password FROM optimist_accounts WHERE account_id = ?", arguments: [account.id])
            == account.password
    }

    /// In the order that the initializer reads.
    static let sessionColumns = """
        account_id, session_id, device_id, device_name, salt, generation, confirmed, refreshed_at, ended, begun_at
        """

    private func find(_ account: String, _ id: String, _ db: Database) throws -> SessionRecord? {
        try Row.fetchOne(
            db,
            sql: """
                SELECT \(Self.sessionColumns) FROM optimist_sessions WHERE account_id = ? AND session_id = ?
                """, arguments: [account, id]
        ).map(SessionRecord.init)
    }

    private func save(_ session: SessionRecord, _ db: Database) throws {
        try db.execute(
            sql: """
                INSERT OR REPLACE INTO optimist_sessions (account_id, session_id, device_id, device_name, salt,
                    generation, confirmed, refreshed_at, ended, begun_at) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
                """,
            arguments: [
                session.account, session.id, session.deviceID, session.deviceName, Data(session.salt),
                session.generation, session.confirmed, session.refreshedAt, session.ended?.rawValue, session.begunAt,
            ])
    }
}

extension String {
    /// Sorts after all strings with this prefix, in the byte order of UTF-8.
    package var endOfPrefix: String { self + "\u{10FFFF}" }
}

extension StoredAccount {
    fileprivate init(_ row: Row) { self.init(id: row[0], email: row[1], password: row[2]) }
}

extension SessionRecord {
    init(_ row: Row) {
        let salt: Data = row[4]
        let ended: String? = row[8]
        self.init(
            account: row[0], id: row[1], deviceID: row[2], deviceName: row[3], salt: Array(salt), generation: row[5],
            confirmed: row[6], refreshedAt: row[7], ended: ended.map { SessionEnd(rawValue: $0) ?? .revoked },
            begunAt: row[9])
    }
}
