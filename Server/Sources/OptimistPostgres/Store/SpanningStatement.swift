// This source file is part of the Optimist open source project, under the MIT licence.

/// The statements about several accounts, most of them of one person. They only read and take no locks, because a
/// database that is sharded by account asks all its machines for them.
enum SpanningStatement: String, PostgresStatement, CaseIterable {
    case states, endings, spaceCount, spaces, memberships, endedSpaces

    var sql: String {
        switch self {
        case .states:
            """
            SELECT a.account_id, a.seq, (SELECT max(number) FROM optimist_epochs),
                m.member_id, m.role, m.joined_seq, m.ended_seq, m.reason, a.kind
            FROM optimist_accounts a LEFT JOIN optimist_members m ON m.account_id = a.account_id AND m.person_id = $2
            WHERE a.account_id = ANY($1::text[])
                AND ($2::text IS NULL OR a.account_id = $2 OR m.person_id IS NOT NULL OR a.kind = 'public')
            """
        case .endings:
            """
            SELECT account_id, member_id, role, joined_seq, ended_seq, reason FROM optimist_members
            WHERE account_id = ANY($1::text[]) AND person_id = $2 AND ended_seq IS NOT NULL
            """
        case .memberships:
            """
            SELECT account_id, person_id, member_id, role, joined_seq, ended_seq, reason FROM optimist_members
            WHERE person_id = $1 ORDER BY account_id
            """
        case .endedSpaces:
            """
            SELECT a.account_id FROM optimist_accounts a WHERE a.kind = 'space'
                AND EXISTS (SELECT 1 FROM optimist_members m WHERE m.account_id = a.account_id)
                AND NOT EXISTS (SELECT 1 FROM optimist_members m
                    WHERE m.account_id = a.account_id AND m.ended_seq IS NULL)
            ORDER BY a.account_id LIMIT 1000
            """
        case .spaces: "SELECT account_id FROM optimist_members WHERE person_id = $1 ORDER BY account_id"
        case .spaceCount:
            """
            SELECT count(*), count(*) FILTER (WHERE role = 'owner') FROM optimist_members
            WHERE person_id = $1 AND ended_seq IS NULL
            """
        }
    }
}
