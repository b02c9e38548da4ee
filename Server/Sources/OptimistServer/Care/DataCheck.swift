// This source file is part of the Optimist open source project, under the MIT licence.

package import Foundation
import GRDB
import OptimistCore

/// Checks a server's data: the file, its tables and indexes, and whether the tables agree.
package enum DataCheck {
    /// Checks the data in a directory, even while the server runs. Blocks the thread.
    ///
    /// - Returns: A sentence for each problem, at most 100.
    /// - Throws: `OptimistError` with code `unreadableData` if there is no data or no database.
    package static func problems(of directory: URL) throws -> [String] {
        try problems(in: ServerDatabase.existingFile(in: directory))
    }

    package static let mostProblems = 100

    static func problems(in file: URL) throws -> [String] {
        do {
            return try ServerDatabase.queue(file.path).read { db in
                let damage = try String.fetchAll(db, sql: "PRAGMA integrity_check(\(mostProblems))").filter {
                    $0 != "ok"
                }
                // If the file is damaged, its rows cannot be trusted either.
                if !damage.isEmpty { return damage.map { "The file is damaged: \($0)." } }
                let triggers = try String.fetchAll(
                    db, sql: "SELECT name FROM sqlite_master WHERE type = 'trigger' ORDER BY name")
                if !triggers.isEmpty { return triggers.map { foreign("trigger", $0) } }
                return try problems(in: EmbeddedData(db))
            }
        } catch {
            throw ServerDatabase.problem(error, at: file.path)
        }
    }

    /// - Returns: A sentence for each problem, at most 100.
    package static func problems(in data: some CheckedData) throws -> [String] {
        var problems: [String] = []
        for claim in claims { problems += try data.texts(claim.query).map { "\(claim.sentence): \($0)." } }
        var rows = RowCheck(data)
        try data.forEachRow { try rows.look(at: $0) }
        problems += rows.problems
        // Otherwise not all rows were looked at.
        if rows.problems.isEmpty {
            let indexed = Set(try data.texts(members))
            let lacking = rows.members.subtracting(indexed).sorted()
            problems += lacking.map { "The index of members lacks a member row: \($0)." }
            let extra = indexed.subtracting(rows.members).sorted()
            problems += extra.map { "The index of members differs from the member rows: \($0)." }
        }
        return Array(problems.prefix(mostProblems))
    }

    package static func foreign(_ kind: String, _ name: String) -> String {
        "The database has a \(kind) that the server did not create: \(name)."
    }

    private struct Claim {
        var query: CheckedQuery
        var sentence: String

        init(_ name: String, _ sentence: String, _ sql: String) {
            query = CheckedQuery(name: name, sql: "\(sql) LIMIT \(mostProblems)")
            self.sentence = sentence
        }
    }

    private static let members = CheckedQuery(
        name: "members",
        sql: """
            SELECT account_id || ' ' || person_id || ' ' || member_id || ' ' || role FROM optimist_members
            WHERE ended_seq IS NULL
            """)

    private static let claims = [
        Claim(
            "rowCounts", "The number of an account's rows is wrong",
            """
            SELECT a.account_id FROM optimist_accounts a WHERE a.row_count <> (SELECT count(*) FROM optimist_rows r
            WHERE r.account_id = a.account_id AND r.generation % 2 = 1)
            """),
        Claim(
            "strayRows", "Rows belong to an account that does not exist",
            """
            SELECT DISTINCT account_id FROM optimist_rows r WHERE NOT EXISTS
            (SELECT 1 FROM optimist_accounts a WHERE a.account_id = r.account_id) AND NOT EXISTS
            (SELECT 1 FROM optimist_deleted_accounts d WHERE d.account_id = r.account_id)
            """),
        Claim(
            "lateRows", "A row is later than its account's last write",
            """
            SELECT r.account_id || ' ' || r.type || ' ' || r.id FROM optimist_rows r
            JOIN optimist_accounts a USING (account_id) WHERE r.seq > a.seq OR r.born_seq > r.seq
            """),
        Claim(
            "strayEntries", "An index names a row that does not exist",
            """
            SELECT i.account_id || ' ' || i.type || ' ' || i.id FROM optimist_index i
            LEFT JOIN optimist_rows r USING (account_id, type, id) WHERE r.id IS NULL OR r.generation % 2 = 0
            """),
        Claim(
            "straySessions", "A session belongs to an account that does not exist",
            """
            SELECT s.account_id || ' ' || s.session_id FROM optimist_sessions s WHERE NOT EXISTS
            (SELECT 1 FROM optimist_accounts a WHERE a.account_id = s.account_id) AND NOT EXISTS
            (SELECT 1 FROM optimist_deleted_accounts d WHERE d.account_id = s.account_id)
            """),
    ]
}
