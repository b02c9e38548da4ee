// This source file is part of the Optimist open source project, under the MIT licence.

/// The statements about several accounts of one person. They only read and take no locks, because a database that is
/// sharded by account asks all its machines for them.
enum SpanningStatement: String, PostgresStatement, CaseIterable {
    case spaceCount

    var sql: String {
        switch self {
        case .spaceCount:
            """
            SELECT count(*), count(*) FILTER (WHERE role = 'owner') FROM optimist_members
            WHERE person_id = $1 AND ended_seq IS NULL
            """
        }
    }
}
