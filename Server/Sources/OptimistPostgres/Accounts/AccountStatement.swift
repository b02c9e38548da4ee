// This source file is part of the Optimist open source project, under the MIT licence.

/// The SQL statements for an account's password, sessions, reset tokens and deletion. The first parameter is the
/// account's id, and each statement accesses only rows with this id.
enum AccountStatement: String, PostgresStatement, CaseIterable {
    case byID, lock, lockSpace, add, setPassword, delete
    case session, save, sessions, sessionCount, endReplaced, endOthers, deleteSessions, forgetSessions
    case addReset, holdsReset, spendReset, clearResets, forgetResets
    case rowCount, memberCount, eraseIndex, eraseRows, erasePushes, eraseDays, eraseEpochs, forgetMembers, forgetAudit
    case exported, allSessions, allMembers, events, allEvents, eventsOfPerson

    var sql: String {
        switch self {
        case .byID: Self.account
        case .lock: "\(Self.account) FOR UPDATE"
        case .lockSpace: "SELECT 1 FROM optimist_accounts WHERE account_id = $1 AND email IS NULL FOR UPDATE"
        case .add: "INSERT INTO optimist_accounts (account_id, email, password, created_at) VALUES ($1, $2, $3, $4)"
        case .setPassword: "UPDATE optimist_accounts SET password = $2 WHERE account_id = $1"
        case .delete: "DELETE FROM optimist_accounts WHERE account_id = $1"
        case .session, .save, .sessions, .allSessions, .sessionCount, .endReplaced, .endOthers, .deleteSessions,
            .forgetSessions:
            aboutSessions
        case .addReset: "INSERT INTO optimist_resets (account_id, hash, ends_at) VALUES ($1, $2, $3)"
        case .holdsReset:
            "SELECT EXISTS (SELECT 1 FROM optimist_resets WHERE account_id = $1 AND hash = $2 AND ends_at > $3)"
        case .spendReset: "DELETE FROM optimist_resets WHERE account_id = $1 AND hash = $2 AND ends_at > $3"
        case .clearResets: "DELETE FROM optimist_resets WHERE account_id = $1"
        case .forgetResets: "DELETE FROM optimist_resets WHERE account_id = $1 AND ends_at <= $2"
        case .exported: "SELECT created_at, seq, email, kind FROM optimist_accounts WHERE account_id = $1"
        case .allMembers:
            """
            SELECT account_id, person_id, member_id, role, joined_seq, ended_seq, reason FROM optimist_members
            WHERE account_id = $1 ORDER BY person_id
            """
        case .rowCount: "SELECT count(*) FROM optimist_rows WHERE account_id = $1"
        case .memberCount: "SELECT count(*) FROM optimist_members WHERE account_id = $1 AND ended_seq IS NULL"
        case .eraseIndex: Self.erase("optimist_index", "type, name, key, id")
        case .eraseRows: Self.erase("optimist_rows", "type, id")
        case .erasePushes: Self.erase("optimist_pushes", "person_id, device")
        case .forgetMembers: "DELETE FROM optimist_members WHERE account_id = $1"
        case .forgetAudit: "DELETE FROM optimist_audit WHERE account_id = $1"
        case .events:
            """
            SELECT \(Self.event) FROM optimist_audit WHERE account_id = $1 AND (seq, ordinal) < ($2, $3)
            ORDER BY seq DESC, ordinal DESC LIMIT $4
            """
        case .allEvents: "SELECT \(Self.event) FROM optimist_audit WHERE account_id = $1 ORDER BY seq, ordinal"
        case .eventsOfPerson:
            """
            SELECT \(Self.event) FROM optimist_audit WHERE account_id = $1 AND (person_id = $2 OR subject = $2)
            ORDER BY seq, ordinal
            """
        case .eraseDays: Self.erase("optimist_account_days", "day")
        case .eraseEpochs: Self.erase("optimist_account_epochs", "epoch")
        }
    }

    /// Finds only accounts that a person signs in to.
    private static let account = """
        SELECT account_id, email, password FROM optimist_accounts WHERE account_id = $1 AND email IS NOT NULL
        """

    /// The statements that remove a deleted account's rows. The second parameter is the most rows to remove.
    static let erasing: [AccountStatement] = [
        .eraseIndex, .eraseRows, .erasePushes, .eraseDays, .eraseEpochs,
    ]

    private static func erase(_ table: String, _ key: String) -> String {
        """
        DELETE FROM \(table) WHERE account_id = $1 AND (\(key)) IN
            (SELECT \(key) FROM \(table) WHERE account_id = $1 LIMIT $2)
        """
    }

    private static let event = "seq, ordinal, what, person_id, device, subject, detail, at"

    /// The columns of a session, in the order that its initializer reads them.
    private static let columns = """
        account_id, session_id, device_id, device_name, salt, generation, confirmed, refreshed_at, ended, begun_at
        """

    private var aboutSessions: String {
        switch self {
        case .session: "SELECT \(Self.columns) FROM optimist_sessions WHERE account_id = $1 AND session_id = $2"
        case .save:
            """
            INSERT INTO optimist_sessions (\(Self.columns)) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)
            ON CONFLICT (account_id, session_id) DO UPDATE SET device_id = excluded.device_id,
                device_name = excluded.device_name, salt = excluded.salt, generation = excluded.generation,
                confirmed = excluded.confirmed, refreshed_at = excluded.refreshed_at, ended = excluded.ended,
                begun_at = excluded.begun_at
            """
        case .sessions:
            """
            SELECT \(Self.columns) FROM optimist_sessions WHERE account_id = $1 AND ended IS NULL AND refreshed_at >= $2
            ORDER BY refreshed_at DESC, session_id
            """
        case .allSessions: "SELECT \(Self.columns) FROM optimist_sessions WHERE account_id = $1 ORDER BY session_id"
        case .sessionCount:
            """
            SELECT count(*) FROM optimist_sessions WHERE account_id = $1 AND ended IS NULL AND refreshed_at >= $2
            """
        case .endReplaced:
            """
            UPDATE optimist_sessions SET ended = $2 WHERE account_id = $1 AND ended IS NULL
            AND ($3::boolean OR device_id = $4) RETURNING session_id
            """
        case .endOthers:
            """
            UPDATE optimist_sessions SET ended = $2 WHERE account_id = $1 AND ended IS NULL
            AND session_id IS DISTINCT FROM $3 RETURNING session_id
            """
        case .deleteSessions: "DELETE FROM optimist_sessions WHERE account_id = $1 RETURNING session_id"
        default: "DELETE FROM optimist_sessions WHERE account_id = $1 AND refreshed_at < $2"
        }
    }
}
