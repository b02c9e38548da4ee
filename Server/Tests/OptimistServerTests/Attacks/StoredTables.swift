// This source file is part of the Optimist open source project, under the MIT licence.

import GRDB
import Testing

@testable import OptimistPostgres
@testable import OptimistServer

/// Everything that a server stores about each account, in either store.
struct StoredTables {
    /// The rows of the tables, as text, by account.
    typealias Contents = [String: Set<String>]

    /// The times when a session was used are left out.
    private static let queries =
        [
            "SELECT account_id, session_id, device_id, ended FROM optimist_sessions",
            "SELECT account_id, device, number, person_id FROM optimist_pushes",
        ]
        + [
            "accounts", "account_epochs", "account_days", "resets", "members", "audit", "rows", "index",
            "deleted_accounts",
        ].map { "SELECT * FROM optimist_\($0)" }

    private let connection: PostgresConnection?
    private let pool: DatabasePool?

    init(of server: OptimistServer, at site: Site) throws {
        connection = try site.database.map { try PostgresConnection($0.url) }
        pool = site.database == nil ? try server.database.pool : nil
    }

    func contents() throws -> Contents {
        var contents: Contents = [:]
        for query in Self.queries {
            for (account, row) in try rows(query) { contents[account, default: []].insert("\(query): \(row)") }
        }
        return contents
    }

    private func rows(_ query: String) throws -> [(account: String, row: String)] {
        if let connection {
            // PostgreSQL tells statements apart by their first 63 characters.
            let sql = "/*\(query.suffix(28))*/ SELECT account_id, q::text FROM (\(query)) q"
            let rows = try connection.query(SharedDatabase.Statement(sql: sql), [])
            return (0..<rows.count).map { (rows.text($0, 0), rows.text($0, 1)) }
        }
        let found = try pool?.read { db in
            try Row.fetchAll(db, sql: query).map { row -> (account: String, row: String) in
                (row["account_id"], row.description)
            }
        }
        return found ?? []
    }

    /// Changes the tables, as no request can.
    func execute(_ sql: String) throws {
        if let connection { return try connection.script(sql) }
        try pool?.write { try $0.execute(sql: sql) }
    }
}

extension StoredTables.Contents {
    /// The contents without the push numbers and the audited refusals in a space, which the server keeps even if it
    /// refuses all rows.
    func withoutNotes(of account: String) -> Self {
        var contents = self
        contents[account] = contents[account]?.filter { row in
            let isRefusal = row.contains("FROM optimist_audit") && row.contains("refused")
            return !isRefusal && !row.contains("FROM optimist_pushes")
        }
        return contents
    }
}
