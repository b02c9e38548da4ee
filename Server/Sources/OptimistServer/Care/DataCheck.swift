// This source file is part of the Optimist open source project, under the MIT licence.

public import Foundation
import GRDB
import OptimistCore
import OptimistWire

/// Checks a server's data: the file, its tables and indexes, and that the tables agree with each other.
public enum DataCheck {
    /// Checks the data in a directory, also while the server runs. It changes nothing, and blocks the thread.
    ///
    /// - Returns: A sentence for each problem, at most 100. None: the data is sound.
    /// - Throws: `OptimistError` with code `unreadableData` if there is no data, or no database at all.
    public static func problems(of directory: URL) throws -> [String] {
        try problems(in: ServerDatabase.existingFile(in: directory))
    }

    static let mostProblems = 100

    static func problems(in file: URL) throws -> [String] {
        do {
            return try ServerDatabase.queue(file.path).read { db in
                let damage = try String.fetchAll(db, sql: "PRAGMA integrity_check(\(mostProblems))").filter {
                    $0 != "ok"
                }
                // What a damaged file says of its rows is no news.
                if !damage.isEmpty { return damage.map { "The file is damaged: \($0)." } }
                return try Array((disagreements(db) + unreadable(db)).prefix(mostProblems))
            }
        } catch {
            throw ServerDatabase.problem(error, at: file.path)
        }
    }

    /// What one table says and another does not.
    private static let claims: [(sql: String, sentence: String)] = [
        (
            """
            SELECT DISTINCT account_id FROM optimist_rows r WHERE NOT EXISTS
            (SELECT 1 FROM optimist_accounts a WHERE a.account_id = r.account_id) AND NOT EXISTS
            (SELECT 1 FROM optimist_deleted_accounts d WHERE d.account_id = r.account_id)
            """, "There are rows of an account that is not there"
        ),
        (
            """
            SELECT r.account_id || ' ' || r.type || ' ' || r.id FROM optimist_rows r
            JOIN optimist_accounts a USING (account_id) WHERE r.seq > a.seq OR r.born_seq > r.seq
            """, "A row is later than its account's last write"
        ),
        (
            """
            SELECT i.account_id || ' ' || i.type || ' ' || i.id FROM optimist_index i
            LEFT JOIN optimist_rows r USING (account_id, type, id) WHERE r.id IS NULL OR r.generation % 2 = 0
            """, "An index names a row that is not there"
        ),
        (
            """
            SELECT s.account_id || ' ' || s.session_id FROM optimist_sessions s WHERE NOT EXISTS
            (SELECT 1 FROM optimist_accounts a WHERE a.account_id = s.account_id)
            """, "There is a session of an account that is not there"
        ),
    ]

    private static func disagreements(_ db: Database) throws -> [String] {
        try claims.flatMap { claim in
            try String.fetchAll(db, sql: "\(claim.sql) LIMIT \(mostProblems)").map { "\(claim.sentence): \($0)." }
        }
    }

    /// The rows whose content is not JSON.
    private static func unreadable(_ db: Database) throws -> [String] {
        var problems: [String] = []
        let rows = try Row.fetchCursor(db, sql: "SELECT account_id, type, id, content, hidden FROM optimist_rows")
        while let row = try rows.next(), problems.count < mostProblems {
            let content = try row.bytes(at: 3)
            let hidden = try row.bytesIfAny(at: 4)
            if (try? JSON(parsing: content))?.object != nil, hidden.map({ (try? JSON(parsing: $0)) != nil }) ?? true {
                continue
            }
            problems.append(
                "The content of a row cannot be read: \(row[0] as String) \(row[1] as String) \(row[2] as String).")
        }
        return problems
    }
}
