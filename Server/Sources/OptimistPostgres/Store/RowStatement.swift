// This source file is part of the Optimist open source project, under the MIT licence.

/// The statements about the rows of one account. The account's id is the first parameter and restricts every table
/// access, so the tables can be sharded by account.
enum RowStatement: String, PostgresStatement, CaseIterable {
    case lock, read, epochs, setSeq, beginEpoch, setEpoch, setDay, dropDays, addDay, seqBefore, setSchema
    case row, rows, holders, livingRows, livingInOrder, livingCount, changes
    case upsert1, upsert16, upsert128, dropIndex, addIndex1, addIndex16
    case notePush, hasExpired, forget, setFloor, forgetPushes, forgetDays
    case reported, setReported
    case found, dropPushes, drop, membership, members, join, endMembership
    case addEvent, forgetEvents
    case allRows, renameType, rewrite, clearIndex

    var sql: String {
        switch self {
        case .lock: "\(Self.account) FOR UPDATE OF a"
        case .read: Self.account
        case .epochs: "SELECT epoch, first_seq FROM optimist_account_epochs WHERE account_id = $1"
        case .setSeq: "UPDATE optimist_accounts SET seq = $2, row_count = $3 WHERE account_id = $1"
        case .beginEpoch:
            "INSERT INTO optimist_account_epochs (account_id, epoch, first_seq) VALUES ($1, $2, $3) ON CONFLICT DO NOTHING"
        case .setEpoch: "UPDATE optimist_accounts SET epoch = $2 WHERE account_id = $1"
        case .setDay: "UPDATE optimist_accounts SET day = $2 WHERE account_id = $1"
        case .dropDays: "DELETE FROM optimist_account_days WHERE account_id = $1 AND day > $2"
        case .addDay:
            "INSERT INTO optimist_account_days (account_id, day, first_seq) VALUES ($1, $2, $3) ON CONFLICT DO NOTHING"
        case .seqBefore:
            "SELECT first_seq FROM optimist_account_days WHERE account_id = $1 AND day >= $2 ORDER BY day LIMIT 1"
        case .reported: "SELECT reported FROM optimist_accounts WHERE account_id = $1"
        case .setReported:
            "UPDATE optimist_accounts SET reported = greatest(reported, $2) WHERE account_id = $1"
        case .addEvent:
            """
            INSERT INTO optimist_audit (account_id, seq, ordinal, at, what, person_id, device, subject, detail)
            VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)
            """
        case .found, .dropPushes, .drop, .membership, .members, .join, .endMembership: ofSpaces
        case .setSchema: "UPDATE optimist_accounts SET schema_version = $2 WHERE account_id = $1"
        case .row, .rows, .holders, .livingRows, .livingInOrder, .livingCount, .changes: reading
        case .upsert1, .upsert16, .upsert128, .dropIndex, .addIndex1, .addIndex16: writing
        case .notePush, .hasExpired, .forget, .setFloor, .forgetPushes, .forgetDays, .forgetEvents: forgetting
        case .allRows, .renameType, .rewrite, .clearIndex: converting
        }
    }

    /// The account and the reader's membership, if the account has to do with the reader or is public, or the reader
    /// has the ticket of an invitation. The second parameter is the person, or null for the operator. The others find a
    /// ticket in the index: the type, the index and the keys.
    private static let account = """
        SELECT a.seq, a.epoch, a.floor, a.day, a.schema_version, (SELECT max(number) FROM optimist_epochs),
            a.row_count, m.member_id, m.role, m.joined_seq, m.ended_seq, m.reason, a.kind
        FROM optimist_accounts a LEFT JOIN optimist_members m ON m.account_id = $1 AND m.person_id = $2
        WHERE a.account_id = $1 AND ($2::text IS NULL OR a.account_id = $2 OR m.person_id IS NOT NULL
            OR a.kind = 'public' OR EXISTS (SELECT 1 FROM optimist_index
                WHERE account_id = $1 AND type = $3 AND name = $4 AND key = ANY($5::text[])))
        """

    private var ofSpaces: String {
        switch self {
        case .found:
            """
            INSERT INTO optimist_accounts (account_id, kind, password, created_at, schema_version)
            VALUES ($1, $4, '', $2, $3) ON CONFLICT DO NOTHING
            """
        case .dropPushes: "DELETE FROM optimist_pushes WHERE account_id = $1"
        case .drop: "DELETE FROM optimist_accounts WHERE account_id = $1"
        case .membership:
            """
            SELECT member_id, role, joined_seq, ended_seq, reason FROM optimist_members
            WHERE account_id = $1 AND person_id = $2
            """
        case .members:
            """
            SELECT person_id, member_id, role, joined_seq FROM optimist_members
            WHERE account_id = $1 AND ended_seq IS NULL ORDER BY person_id
            """
        case .join:
            """
            INSERT INTO optimist_members AS m (account_id, person_id, member_id, role, joined_seq)
            VALUES ($1, $2, $3, $4, $5)
            ON CONFLICT (account_id, person_id) DO UPDATE SET member_id = excluded.member_id, role = excluded.role,
                joined_seq = CASE WHEN m.ended_seq IS NULL THEN m.joined_seq ELSE excluded.joined_seq END,
                ended_seq = NULL, reason = NULL
            """
        default:
            """
            UPDATE optimist_members SET ended_seq = $3, reason = $4
            WHERE account_id = $1 AND person_id = $2 AND member_id = $5 AND ended_seq IS NULL
            """
        }
    }

    private static let logged = "id, seq, ordinal, born_seq, generation, content, hidden"

    /// Looks up each key separately. For `= ANY`, PostgreSQL may instead read every row of the account and compare it
    /// with every key. `OFFSET 0` prevents other join plans.
    private var reading: String {
        switch self {
        case .row: "\(Self.stored) AND id = $3"
        case .rows:
            """
            SELECT r.* FROM unnest($3::text[]) AS wanted(key) CROSS JOIN LATERAL (
                \(Self.stored) AND id = wanted.key OFFSET 0
            ) AS r
            """
        case .holders:
            """
            SELECT i.key, i.id FROM unnest($4::text[]) AS wanted(key) CROSS JOIN LATERAL (
                SELECT key, id FROM optimist_index
                WHERE account_id = $1 AND type = $2 AND name = $3 AND key = wanted.key OFFSET 0
            ) AS i ORDER BY i.key, i.id
            """
        case .livingRows:
            """
            SELECT \(Self.logged) FROM (
                SELECT \(Self.logged), \(Self.places("id")) FROM unnest($3::text[]) AS wanted(key) CROSS JOIN LATERAL (
                    SELECT \(Self.logged) FROM optimist_rows
                    WHERE account_id = $1 AND type = $2 AND id = wanted.key AND generation % 2 = 1 OFFSET 0
                ) AS found
            ) AS page WHERE place <= 2 OR before <= $4 ORDER BY id
            """
        case .livingInOrder:
            """
            SELECT \(Self.logged) FROM (
                SELECT \(Self.logged), \(Self.places("id")) FROM (
                    SELECT \(Self.logged) FROM optimist_rows
                    WHERE account_id = $1 AND type = $2 AND id > $3 AND generation % 2 = 1 ORDER BY id LIMIT $4
                ) AS near
            ) AS page WHERE place <= 2 OR before <= $5 ORDER BY id
            """
        case .livingCount:
            "SELECT count(*) FROM optimist_rows WHERE account_id = $1 AND type = $2 AND generation % 2 = 1"
        default:
            """
            SELECT \(Self.logged) FROM (
                SELECT \(Self.logged), \(Self.places("seq, ordinal")) FROM (
                    SELECT id, seq, ordinal, born_seq, generation, content,
                        CASE WHEN generation % 2 = 1 THEN hidden END AS hidden FROM optimist_rows
                    WHERE account_id = $1 AND type = $2 AND (seq, ordinal) >= ($3, $4) ORDER BY seq, ordinal LIMIT $5
                ) AS near
            ) AS page WHERE place <= 2 OR before <= $6 ORDER BY seq, ordinal
            """
        }
    }

    private static let stored = """
        SELECT id, seq, ordinal, born_seq, content, hidden FROM optimist_rows WHERE account_id = $1 AND type = $2
        """

    private static let size = "(octet_length(content) + coalesce(octet_length(hidden), 0))"

    /// A row's number in a page, and the total size of the rows before it.
    ///
    /// The reader needs at least one row, and one row beyond the page, to detect that there are more.
    private static func places(_ order: String) -> String {
        "row_number() OVER (ORDER BY \(order)) AS place, sum(\(size)) OVER (ORDER BY \(order)) - \(size) AS before"
    }

    private var writing: String {
        switch self {
        case .upsert1: Self.upsert(1)
        case .upsert16: Self.upsert(16)
        case .upsert128: Self.upsert(128)
        case .dropIndex:
            "DELETE FROM optimist_index WHERE account_id = $1 AND type = $2 AND name = $3 AND key = $4 AND id = $5"
        case .addIndex1: Self.addIndex(1)
        default: Self.addIndex(16)
        }
    }

    /// Stores rows of one transaction. The parameters are the account, the seq, and seven values for each row.
    private static func upsert(_ count: Int) -> String {
        let rows = (0..<count).map { row in
            let first = 3 + row * 7
            return
                "($1, $\(first), $\(first + 1), $\(first + 2), $2, $\(first + 3), $\(first + 4), $\(first + 5), $\(first + 6))"
        }
        return """
            INSERT INTO optimist_rows (account_id, type, id, generation, seq, ordinal, born_seq, content, hidden)
            VALUES \(rows.joined(separator: ", "))
            ON CONFLICT (account_id, type, id) DO UPDATE SET generation = excluded.generation, seq = excluded.seq,
                ordinal = excluded.ordinal, born_seq = excluded.born_seq, content = excluded.content,
                hidden = excluded.hidden
            """
    }

    private static func addIndex(_ count: Int) -> String {
        let entries = (0..<count).map { entry in
            let first = 2 + entry * 4
            return "($1, $\(first), $\(first + 1), $\(first + 2), $\(first + 3))"
        }
        return """
            INSERT INTO optimist_index (account_id, type, name, key, id) VALUES \(entries.joined(separator: ", "))
            ON CONFLICT DO NOTHING
            """
    }

    private var forgetting: String {
        switch self {
        case .notePush:
            """
            INSERT INTO optimist_pushes AS p (account_id, person_id, device, number, day) VALUES ($1, $2, $3, $4, $5)
            ON CONFLICT (account_id, person_id, device) DO UPDATE SET number = excluded.number, day = excluded.day
            WHERE excluded.number >= p.number
            """
        case .hasExpired:
            """
            SELECT EXISTS (SELECT 1 FROM optimist_rows WHERE account_id = $1 AND generation % 2 = 0 AND seq <= $2)
                OR EXISTS (SELECT 1 FROM optimist_pushes WHERE account_id = $1 AND day < $3)
                OR EXISTS (SELECT 1 FROM optimist_audit WHERE account_id = $1 AND at < $4)
                OR EXISTS (SELECT 1 FROM optimist_audit WHERE account_id = $1 LIMIT 1 OFFSET $5)
            """
        case .forgetEvents:
            """
            DELETE FROM optimist_audit WHERE account_id = $1 AND (at < $2 OR (seq, ordinal) <=
                (SELECT seq, ordinal FROM optimist_audit WHERE account_id = $1 ORDER BY seq DESC, ordinal DESC
                LIMIT 1 OFFSET $3))
            """
        // Deletes rows in the order of their deletion, by an index of deleted rows only.
        case .forget:
            """
            WITH expired AS (
                SELECT type, id, seq, row_number() OVER (ORDER BY seq) AS place FROM optimist_rows
                WHERE account_id = $1 AND generation % 2 = 0 AND seq <= $2 ORDER BY seq LIMIT $3 + 1
            ), gone AS (
                DELETE FROM optimist_rows r USING expired e
                WHERE r.account_id = $1 AND r.type = e.type AND r.id = e.id AND e.place <= $3 RETURNING r.seq
            ) SELECT (SELECT count(*) > $3 FROM expired), coalesce(max(seq), 0) FROM gone
            """
        case .setFloor: "UPDATE optimist_accounts SET floor = $2 WHERE account_id = $1"
        case .forgetPushes: "DELETE FROM optimist_pushes WHERE account_id = $1 AND day < $2"
        default: "DELETE FROM optimist_account_days WHERE account_id = $1 AND day < $2"
        }
    }

    private var converting: String {
        switch self {
        case .allRows:
            """
            SELECT id, content, hidden, generation FROM optimist_rows WHERE account_id = $1 AND type = $2 AND id > $3
            ORDER BY id LIMIT 500
            """
        case .renameType: "UPDATE optimist_rows SET type = $3 WHERE account_id = $1 AND type = $2"
        case .rewrite:
            "UPDATE optimist_rows SET content = $4, hidden = $5 WHERE account_id = $1 AND type = $2 AND id = $3"
        default: "DELETE FROM optimist_index WHERE account_id = $1"
        }
    }
}
