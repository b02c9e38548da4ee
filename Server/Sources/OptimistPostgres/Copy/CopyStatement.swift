// This source file is part of the Optimist open source project, under the MIT licence.

/// The statements that only a copy needs.
enum CopyStatement: String, PostgresStatement, CaseIterable {
    case account, addAccount, addPush, addMember, rows, dropSetting

    /// Whether the statement's first parameter is the account.
    var isOfAccount: Bool { self != .dropSetting }

    var sql: String {
        switch self {
        case .account: "SELECT seq FROM optimist_accounts WHERE account_id = $1"
        case .addAccount:
            """
            INSERT INTO optimist_accounts
                (account_id, kind, email, password, created_at, seq, epoch, floor, day, schema_version, reported,
                row_count)
            VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12)
            """
        case .addPush:
            "INSERT INTO optimist_pushes (account_id, person_id, device, number, day) VALUES ($1, $2, $3, $4, $5)"
        case .addMember:
            """
            INSERT INTO optimist_members (account_id, person_id, member_id, role, joined_seq, ended_seq, reason)
            VALUES ($1, $2, $3, $4, $5, $6, $7)
            """
        case .rows:
            """
            SELECT type, id, generation, seq, ordinal, born_seq, content, hidden FROM optimist_rows
            WHERE account_id = $1 AND (type, id) > ($2, $3) ORDER BY type, id LIMIT $4
            """
        case .dropSetting: "DELETE FROM optimist_settings WHERE name = $1"
        }
    }
}
