// This source file is part of the Optimist open source project, under the MIT licence.

import GRDB
import OptimistCore

/// The engine's own tables, which stand beside the app's in the same file and all start with `optimist_`.
///
/// `optimist_row` holds what is known of each synced row: its generation, its clocks as the server confirmed them and,
/// while it is pending, which columns are unsent and what the server holds of them. It never holds an unsent value.
/// Documentation/Decisions/0003-outbox-form.md says why it is one row with a mask.
enum EngineSchema {
    /// The version that this code writes. A file with a higher one is refused.
    static let version = 4

    static func migrate(_ db: Database) throws {
        try db.execute(sql: "CREATE TABLE IF NOT EXISTS optimist_meta(name TEXT PRIMARY KEY NOT NULL, value)")
        let present = try Meta.int(.version, in: db) ?? 0
        if present < 1 { try createVersion1(db) }
        if present < 2 {
            try upgradeToVersion2(db)
            try addCountersAndUnknowns(db)
        }
        if present < 3 { try upgradeToVersion3(db) }
        if present < 4 { try upgradeToVersion4(db) }
        let definitions = try definitions(in: db)
        for (name, sql) in additions where definitions[name] == nil { try db.execute(sql: sql) }
        try createStateView(in: db, beside: definitions)
        // Opening a file that is as it should be writes nothing: a commit is a durable one.
        if present < version { try Meta.set(.version, to: Int64(version), in: db) }
    }

    /// Tables that came without a new version: older code leaves them alone.
    private static let additions = [
        (name: "optimist_collision", sql: CollisionTable.definition),
        (name: "optimist_wait", sql: WaitTable.definition),
    ]

    /// The sync state of a row `r` of `optimist_row` (Q2). The unsent half comes before a row that waits to be
    /// received: that row may wait just for the answer to the unsent half.
    private static let state = """
        CASE WHEN EXISTS (SELECT 1 FROM optimist_rejection j WHERE j.tbl = r.tbl AND j.id = r.id) THEN 'rejected'
        WHEN r.pending IS NULL
        THEN iif(EXISTS (SELECT 1 FROM optimist_parked p WHERE p.tbl = r.tbl AND p.id = r.id), 'parked', 'synced')
        WHEN r.blocked IS NOT NULL THEN 'blocked'
        WHEN r.dirty & r.sent <> 0
        AND EXISTS (SELECT 1 FROM optimist_meta WHERE name = 'inFlight' AND value IS NOT NULL) THEN 'inFlight'
        ELSE 'pending' END
        """

    /// The engine's tables, views and triggers that the file has, each with its statement, by name.
    static func definitions(in db: Database) throws -> [String: String] {
        let rows = try Row.fetchAll(
            db,
            sql: """
                SELECT name, sql FROM sqlite_master WHERE type IN ('table', 'view', 'trigger') AND name GLOB 'optimist_*'
                """)
        return Dictionary(rows.map { ($0[0], $0[1]) }, uniquingKeysWith: { $1 })
    }

    /// Makes the view `optimist_state_TABLE`, to be joined with the app's table by `id`: each row is then looked up, where
    /// the view of all tables would be walked.
    static func createStateView(
        of layout: TableLayout, in db: Database, beside definitions: [String: String]
    ) throws {
        try createView(
            "optimist_state_\(layout.name)", in: db, beside: definitions,
            as: """
                SELECT r.id AS id, \(state) AS state, r.blocked AS blockedBy
                FROM optimist_row r WHERE r.tbl = \(layout.number)
                """)
    }

    /// Makes the view of all tables.
    private static func createStateView(in db: Database, beside definitions: [String: String]) throws {
        try createView(
            "optimist_state", in: db, beside: definitions,
            as: """
                SELECT t.name AS tableName, r.id AS id, \(state) AS state, r.blocked AS blockedBy
                FROM optimist_row r JOIN optimist_table t ON t.number = r.tbl
                UNION ALL
                SELECT t.name, p.id, 'parked', NULL FROM optimist_parked p JOIN optimist_table t ON t.number = p.tbl
                WHERE NOT EXISTS (SELECT 1 FROM optimist_row r WHERE r.tbl = p.tbl AND r.id = p.id)
                """)
    }

    /// Makes a view, unless the file has it as this code would make it.
    private static func createView(
        _ name: String, in db: Database, beside definitions: [String: String], as selection: String
    ) throws {
        let sql = "CREATE VIEW \(name) AS \(selection)"
        if definitions[name] == sql { return }
        try db.execute(sql: "DROP VIEW IF EXISTS \(name)")
        try db.execute(sql: sql)
    }

    private static func createVersion1(_ db: Database) throws {
        try db.execute(
            sql: """
                CREATE TABLE optimist_table(
                    number INTEGER PRIMARY KEY,
                    name TEXT NOT NULL UNIQUE,
                    cursor TEXT                         -- the state up to which everything has been received
                );
                CREATE TABLE optimist_column(
                    tbl INTEGER NOT NULL, name TEXT NOT NULL, bit INTEGER NOT NULL, PRIMARY KEY(tbl, name)
                ) WITHOUT ROWID;
                CREATE TABLE optimist_node(             -- the devices whose clocks rows carry
                    number INTEGER PRIMARY KEY, device TEXT NOT NULL UNIQUE
                );
                CREATE TABLE optimist_row(
                    key INTEGER PRIMARY KEY,
                    tbl INTEGER NOT NULL,
                    id NOT NULL,                        -- as the app's table has it
                    generation INTEGER NOT NULL,        -- odd: alive here, even: deleted here
                    acked INTEGER NOT NULL DEFAULT 0,   -- the generation that the server confirmed, 0: never
                    seq INTEGER NOT NULL DEFAULT 0,     -- the server's last transaction known to have touched it
                    clock INTEGER NOT NULL DEFAULT 0,   -- confirmed: the stamp of every column but the exceptions
                    node INTEGER NOT NULL DEFAULT 0,    -- and its device
                    clocks TEXT,                        -- the exceptions, {"column":"clock"}
                    pending INTEGER,                    -- the stamp of the transaction that made it pending, null: clean
                    stamp INTEGER,                      -- unsent: the stamp of every dirty column, null: as pending
                    stamps TEXT,                        -- the exceptions, {"column":stamp}
                    dirty INTEGER NOT NULL DEFAULT 0,   -- mask of what is unsent; bit 0 is the row's life
                    sent INTEGER NOT NULL DEFAULT 0,    -- mask of what was sent and is unanswered
                    base TEXT,                          -- what the server holds of dirty columns, as SQL literals
                    settled INTEGER NOT NULL DEFAULT 0, -- the last push that the server answered for this row
                    due INTEGER,                        -- not to be sent before, in milliseconds since 1970
                    blocked TEXT,                       -- the row it waits for, as Type:id
                    UNIQUE(tbl, id)
                );
                CREATE INDEX optimist_pending ON optimist_row(pending) WHERE pending IS NOT NULL;
                CREATE INDEX optimist_blocked ON optimist_row(blocked) WHERE blocked IS NOT NULL;
                CREATE TABLE optimist_rejection(
                    number INTEGER PRIMARY KEY AUTOINCREMENT,
                    tbl INTEGER NOT NULL, id NOT NULL, kind TEXT NOT NULL, code TEXT NOT NULL, columnName TEXT,
                    message TEXT NOT NULL, mine TEXT NOT NULL, server TEXT, at INTEGER NOT NULL
                );
                CREATE INDEX optimist_rejection_row ON optimist_rejection(tbl, id);
                CREATE TABLE optimist_journal(          -- edits of the user's that lost
                    number INTEGER PRIMARY KEY AUTOINCREMENT,
                    tbl INTEGER NOT NULL, id NOT NULL, reason TEXT NOT NULL, mine TEXT NOT NULL, at INTEGER NOT NULL
                );
                CREATE TABLE optimist_parked(           -- rows received that could not be applied yet
                    tbl INTEGER NOT NULL, id NOT NULL, seq INTEGER NOT NULL, row TEXT NOT NULL, reason TEXT NOT NULL,
                    PRIMARY KEY(tbl, id)
                );
                """)
    }
}
