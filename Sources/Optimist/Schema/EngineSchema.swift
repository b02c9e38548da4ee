// This source file is part of the Optimist open source project, under the MIT licence.

import GRDB
import OptimistCore

/// The engine's tables, in the same file as the app's. Their names start with `optimist_`.
///
/// `optimist_remote` stores the server's last known state of each row. For rows with unsent changes, `optimist_edit`
/// stores which columns are unsent and the server's values of these columns. It never stores unsent values.
enum EngineSchema {
    typealias Step = @Sendable (Database) throws -> Void

    /// The steps from versions 1, 2 and so on. The step of a released version never changes.
    private static let steps: [Step] = []

    /// The version that this code writes. The store refuses files with a higher version.
    static let version = steps.count + 1

    static func migrate(_ db: Database, steps: [Step] = Self.steps) throws {
        try db.execute(sql: "CREATE TABLE IF NOT EXISTS optimist_meta(name TEXT PRIMARY KEY NOT NULL, value)")
        let (present, version) = (try Meta.int(.version, in: db).map(Int.init), steps.count + 1)
        if let present {
            for step in steps.dropFirst(max(present - 1, 0)) { try step(db) }
        } else {
            try db.execute(sql: tables)
        }
        try createStateView(in: db, beside: try definitions(in: db))
        // Opening an up-to-date file writes nothing, because each commit costs a durable write.
        if present != version { try Meta.set(.version, to: Int64(version), in: db) }
    }

    /// The columns of a state view (Q2), for rows `r`. A row's edit takes precedence over a parked version, which may
    /// be waiting only for the answer to the edit.
    ///
    /// - Parameter table: The number of the row's table, as SQL.
    private static func stateColumns(of table: String) -> String {
        func has(_ other: String) -> String {
            "EXISTS (SELECT 1 FROM \(other) o WHERE o.tbl = \(table) AND o.id = r.id)"
        }
        let isParked = """
            EXISTS (SELECT 1 FROM optimist_parked o WHERE o.tbl = \(table) AND o.id = r.id
            AND o.reason <> \(ParkedReason.Kind.claim.rawValue))
            """
        func ofEdit(_ value: String) -> String {
            "(SELECT \(value) FROM optimist_edit e WHERE e.tbl = \(table) AND e.id = r.id)"
        }
        let unsent = """
            CASE WHEN e.blocked IS NOT NULL THEN 'blocked' WHEN e.dirty & e.sent <> 0
            AND EXISTS (SELECT 1 FROM optimist_meta WHERE name = 'inFlight' AND value IS NOT NULL) THEN 'inFlight'
            ELSE 'pending' END
            """
        return """
            r.id AS id, CASE WHEN \(has("optimist_rejection")) THEN 'rejected'
            ELSE coalesce(\(ofEdit(unsent)), iif(\(isParked), 'parked', 'synced')) END AS state,
            \(ofEdit("e.blocked")) AS blockedBy, \(isEchoed(in: table)) AS isEchoed
            """
    }

    /// Whether the received pages include the server's last known transaction on a row. Null if the server has never
    /// had the row, during the table's first sync, or if cursors are not ordered.
    private static func isEchoed(in table: String) -> String {
        """
        (SELECT CASE WHEN coalesce((SELECT value FROM optimist_meta WHERE name = 'guarantees'), 1) & 1 AND o.seq > 0
        THEN o.seq <= CAST(substr(p.cursor, instr(p.cursor, '.') + 1) AS INTEGER) END
        FROM optimist_remote o JOIN optimist_progress p ON p.scope = o.scope AND p.tbl = o.tbl
        WHERE o.tbl = \(table) AND o.id = r.id)
        """
    }

    /// Notifies observations, such as live queries on states, that the running transaction may have changed states.
    /// SQLite does not report changes to WITHOUT ROWID tables.
    static func notifyChanges(by author: CaptureContext.Author, in db: Database) throws {
        try db.notifyChanges(in: Table("optimist_edit"))
        // A user's write changes states only through optimist_edit.
        if author == .server { try db.notifyChanges(in: Table("optimist_remote")) }
    }

    /// The SQL of the file's engine tables, views and triggers, by name.
    static func definitions(in db: Database) throws -> [String: String] {
        let rows = try Row.fetchAll(
            db,
            sql: """
                SELECT name, sql FROM sqlite_master WHERE type IN ('table', 'view', 'trigger') AND name GLOB 'optimist_*'
                """)
        return Dictionary(rows.map { ($0[0], $0[1]) }, uniquingKeysWith: { $1 })
    }

    private static func stateView(of table: String) -> String { "optimist_state_\(table)" }

    /// Creates the view `optimist_state_TABLE` for joins with the app's table by `id`. SQLite can look up single rows
    /// in this view, but would scan the view of all tables.
    static func createStateView(
        of layout: TableLayout, in db: Database, beside definitions: [String: String]
    ) throws {
        try createView(
            stateView(of: layout.name), in: db, beside: definitions,
            as: "SELECT \(stateColumns(of: "\(layout.number)")) FROM \"\(layout.name)\" r")
    }

    /// Replaces the views of the app's tables by empty ones for the app's migrations, because SQLite cannot alter tables
    /// while a view refers to a missing table. The app's own views can still refer to these views.
    static func emptyStateViews(in db: Database) throws {
        let present = try definitions(in: db)
        for name in present.keys where name.hasPrefix(stateView(of: "")) {
            try createView(
                name, in: db, beside: present,
                as: "SELECT NULL AS id, NULL AS state, NULL AS blockedBy, NULL AS isEchoed WHERE 0")
        }
        if present[UnsentView.name] != nil {
            try createView(UnsentView.name, in: db, beside: present, as: UnsentView.empty)
        }
    }

    static func dropStateView(of table: String, in db: Database) throws {
        try db.execute(sql: "DROP VIEW IF EXISTS \"\(stateView(of: table))\"")
    }

    /// Creates the view of all tables, which includes deleted rows.
    private static func createStateView(in db: Database, beside definitions: [String: String]) throws {
        func isNotIn(_ table: String) -> String {
            "NOT EXISTS (SELECT 1 FROM \(table) o WHERE o.tbl = r.tbl AND o.id = r.id)"
        }
        func rows(of table: String, where condition: String) -> String {
            """
            SELECT t.name AS tableName, \(stateColumns(of: "r.tbl"))
            FROM \(table) r JOIN optimist_table t ON t.number = r.tbl WHERE \(condition)
            """
        }
        let parts = [
            rows(of: "optimist_remote", where: "1"), rows(of: "optimist_edit", where: isNotIn("optimist_remote")),
            rows(
                of: "optimist_parked",
                where: """
                    \(isNotIn("optimist_remote")) AND \(isNotIn("optimist_edit")) \
                    AND r.reason <> \(ParkedReason.Kind.claim.rawValue)
                    """),
        ]
        try createView(
            "optimist_state", in: db, beside: definitions, as: parts.joined(separator: "\nUNION ALL\n"))
    }

    /// Creates a view, unless the file has it in the same form.
    static func createView(
        _ name: String, in db: Database, beside definitions: [String: String], as selection: String
    ) throws {
        let sql = "CREATE VIEW \(name) AS \(selection)"
        if definitions[name] == sql { return }
        try db.execute(sql: "DROP VIEW IF EXISTS \(name)")
        try db.execute(sql: sql)
    }
}
