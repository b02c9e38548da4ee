// This source file is part of the Optimist open source project, under the MIT licence.

import Foundation
import GRDB
@_spi(Internals) import OptimistServing

extension SQLiteAccountStore {
    func sessions(of account: String, refreshedSince time: Double) async throws -> [SessionRecord] {
        try await reader.read { db in
            try Row.fetchAll(
                db,
                sql: """
                    SELECT \(Self.sessionColumns) FROM optimist_sessions
                    WHERE account_id = ? AND ended IS NULL AND refreshed_at >= ? ORDER BY refreshed_at DESC, session_id
                    """, arguments: [account, time]
            ).map(SessionRecord.init)
        }
    }

    func sessionCounts(refreshedSince time: Double) async throws -> [String: Int] {
        try await reader.read { db in
            let rows = try Row.fetchAll(
                db,
                sql: """
                    SELECT account_id, count(*) FROM optimist_sessions WHERE ended IS NULL AND refreshed_at >= ?
                    GROUP BY account_id
                    """, arguments: [time])
            return Dictionary(uniqueKeysWithValues: rows.map { ($0[0], $0[1]) })
        }
    }

    func setPassword(
        of account: StoredAccount, to password: String, keeping session: String?, spending reset: OneTimeToken?,
        at time: Double
    ) async throws -> [String]? {
        try await commits.write { db in
            guard try isUnchanged(account, db) else { return nil }
            if let reset, try !spend(reset: reset, at: time, db) { return nil }
            try db.execute(
                sql: "UPDATE optimist_accounts SET password = ? WHERE account_id = ?",
                arguments: [password, account.id])
            try db.execute(sql: "DELETE FROM optimist_resets WHERE account_id = ?", arguments: [account.id])
            return try String.fetchAll(
                db,
                sql: """
                    UPDATE optimist_sessions SET ended = ? WHERE account_id = ? AND ended IS NULL
                    AND session_id IS NOT ? RETURNING session_id
                    """, arguments: [SessionEnd.passwordChanged.rawValue, account.id, session])
        }
    }

    // MARK: - Deleting

    func delete(account id: String, if account: StoredAccount?, at time: Double) async throws -> [String]? {
        try await commits.write { db in
            if let account, try !isUnchanged(account, db) { return nil }
            guard try Self.delete(id, at: time, db) else { return nil }
            for table in ["optimist_resets", "optimist_identities"] {
                try db.execute(sql: "DELETE FROM \(table) WHERE account_id = ?", arguments: [id])
            }
            return try String.fetchAll(
                db, sql: "DELETE FROM optimist_sessions WHERE account_id = ? RETURNING session_id", arguments: [id])
        }
    }

    func endedSpaces() async throws -> [String] {
        try await reader.read { db in
            try String.fetchAll(
                db,
                sql: """
                    SELECT account_id FROM optimist_accounts a WHERE kind = ? AND \(Self.hasEnded)
                    ORDER BY 1 LIMIT 1000
                    """, arguments: [AccountKind.space.rawValue])
        }
    }

    /// The condition of a space `a` that all members have left.
    private static let hasEnded = """
        EXISTS (SELECT 1 FROM optimist_members m WHERE m.account_id = a.account_id)
        AND NOT EXISTS (SELECT 1 FROM optimist_members m WHERE m.account_id = a.account_id AND m.ended_seq IS NULL)
        """

    func delete(ended space: String, at time: Double) async throws -> Bool {
        try await commits.write { db in
            let sql = "SELECT EXISTS (SELECT 1 FROM optimist_accounts a WHERE account_id = ? AND \(Self.hasEnded))"
            guard try Bool.fetchOne(db, sql: sql, arguments: [space]) == true else { return false }
            return try Self.delete(space, at: time, db)
        }
    }

    func delete(space: String, at time: Double) async throws {
        try await commits.write { db in _ = try Self.delete(space, at: time, db) }
    }

    /// - Returns: Whether the account existed.
    private static func delete(_ id: String, at time: Double, _ db: Database) throws -> Bool {
        try db.execute(sql: "DELETE FROM optimist_accounts WHERE account_id = ?", arguments: [id])
        guard db.changesCount == 1 else { return false }
        try db.execute(
            sql: """
                INSERT INTO optimist_deleted_accounts
                    (account_id, deleted_at, is_erased, row_count, session_count, space_count)
                SELECT ?1, ?2, 0, (SELECT count(*) FROM optimist_rows WHERE account_id = ?1),
                    (SELECT count(*) FROM optimist_sessions WHERE account_id = ?1),
                    (SELECT count(*) FROM optimist_members WHERE person_id = ?1 AND ended_seq IS NULL)
                """, arguments: [id, time])
        return true
    }

    func spaces(of person: String) async throws -> [String] {
        try await reader.read { db in
            try String.fetchAll(
                db, sql: "SELECT account_id FROM optimist_members WHERE person_id = ? ORDER BY 1", arguments: [person])
        }
    }

    func events(of space: String, before place: LogPosition?, limit: Int) async throws -> [AuditedEvent] {
        try await reader.read { try AuditedEvent.latest(limit, of: space, before: place, in: $0) }
    }

    func isDeleted(account: String) async throws -> Bool {
        try await reader.read { db in
            try Bool.fetchOne(
                db, sql: "SELECT EXISTS (SELECT 1 FROM optimist_deleted_accounts WHERE account_id = ?)",
                arguments: [account]) ?? false
        }
    }

    func receipts(of account: String?) async throws -> [DeletionReceipt] {
        try await reader.read { db in
            try Row.fetchAll(
                db,
                sql: """
                    SELECT account_id, deleted_at, row_count, session_count, space_count, is_erased
                    FROM optimist_deleted_accounts
                    WHERE ?1 IS NULL OR account_id = ?1 ORDER BY deleted_at, account_id
                    """, arguments: [account]
            ).map(DeletionReceipt.init)
        }
    }

    func accountsToErase() async throws -> [String] {
        try await reader.read { db in
            try String.fetchAll(db, sql: "SELECT account_id FROM optimist_deleted_accounts WHERE is_erased = 0")
        }
    }

    func erase(account: String) async throws {
        for table in Self.accountTables {
            var isLast = false
            while !isLast {
                isLast = try await commits.write { db in
                    try db.execute(
                        sql: """
                            DELETE FROM \(table.name) WHERE account_id = ?1 AND (\(table.key)) IN
                            (SELECT \(table.key) FROM \(table.name) WHERE account_id = ?1 LIMIT ?2)
                            """, arguments: [account, Self.erasedAtOnce])
                    return db.changesCount < Self.erasedAtOnce
                }
            }
        }
        try await commits.write { db in
            try db.execute(
                sql: "UPDATE optimist_deleted_accounts SET is_erased = 1 WHERE account_id = ?", arguments: [account])
        }
    }

    func forgetAccounts(deletedBefore time: Double, spacesDeletedBefore spaceTime: Double) async throws {
        try await commits.write { db in
            let forgotten = try String.fetchAll(
                db,
                sql: """
                    DELETE FROM optimist_deleted_accounts WHERE is_erased = 1
                    AND deleted_at < CASE WHEN account_id LIKE 's%' THEN ?2 ELSE ?1 END RETURNING account_id
                    """, arguments: [time, spaceTime])
            for account in forgotten {
                for table in ["optimist_members", "optimist_audit"] {
                    try db.execute(sql: "DELETE FROM \(table) WHERE account_id = ?", arguments: [account])
                }
            }
        }
    }

    private static let erasedAtOnce = 2_000

    /// Every table whose rows end with an account, and its key within the account.
    private static let accountTables: [(name: String, key: String)] = [
        ("optimist_index", "type, name, key, id"), ("optimist_rows", "type, id"),
        ("optimist_pushes", "person_id, device"),
        ("optimist_account_days", "day"), ("optimist_account_epochs", "epoch"),
    ]
}

extension AuditedEvent {
    static let columns = "seq, ordinal, what, person_id, device, subject, detail, at"

    /// The latest events of a space, newest first.
    static func latest(
        _ limit: Int, of space: String, before place: LogPosition? = nil, in db: Database
    ) throws -> [AuditedEvent] {
        let place = place ?? LogPosition(seq: .max, ordinal: .max)
        return try Row.fetchAll(
            db.cachedStatement(
                sql: """
                    SELECT \(columns) FROM optimist_audit
                    WHERE account_id = ? AND (seq, ordinal) < (?, ?) ORDER BY seq DESC, ordinal DESC LIMIT ?
                    """), arguments: [space, place.seq, place.ordinal, limit]
        ).map(AuditedEvent.init)
    }

    init(_ row: Row) {
        self.init(
            place: LogPosition(seq: row[0], ordinal: row[1]),
            event: SpaceEvent(
                what: row[2], person: row[3], device: row[4], subject: row[5], detail: row[6], milliseconds: row[7]))
    }
}

extension DeletionReceipt {
    /// Reads account, time, rows, sessions, spaces and `is_erased`.
    init(_ row: Row) {
        self.init(account: row[0], deletedAt: row[1], rows: row[2], sessions: row[3], spaces: row[4], isErased: row[5])
    }
}
