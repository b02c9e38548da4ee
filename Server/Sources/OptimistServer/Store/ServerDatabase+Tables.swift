// This source file is part of the Optimist open source project, under the MIT licence.

import GRDB

extension ServerDatabase {
    typealias Step = @Sendable (Database) throws -> Void

    /// Never change the step of a released version.
    private static let steps: [Step] = []

    /// A file of a later version is refused unchanged.
    static let version = steps.count + 1

    static func migrate(_ db: Database, steps: [Step] = Self.steps) throws {
        let found = try Int.fetchOne(db, sql: "PRAGMA user_version") ?? 0
        if found == 0 {
            try db.execute(sql: tables + identityTables + healthTables)
        } else {
            for step in steps.dropFirst(found - 1) { try step(db) }
        }
        try db.execute(sql: "PRAGMA user_version = \(steps.count + 1)")
    }

    /// An identity is unique on the server, so its key does not begin with the account.
    private static let identityTables = """
        CREATE TABLE optimist_identities (
            issuer TEXT NOT NULL, subject TEXT NOT NULL, account_id TEXT NOT NULL, linked_at REAL NOT NULL,
            PRIMARY KEY (issuer, subject)
        ) WITHOUT ROWID;
        CREATE INDEX optimist_identities_by_account ON optimist_identities (account_id);
        CREATE TABLE optimist_spent_tokens (hash BLOB PRIMARY KEY, ends_at REAL NOT NULL) WITHOUT ROWID;

        """

    /// Tables of account data have the account's id as first key column, so that accounts can be moved between
    /// machines.
    private static let tables = """
        CREATE TABLE optimist_settings (name TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
        CREATE TABLE optimist_epochs (number INTEGER PRIMARY KEY AUTOINCREMENT, name TEXT NOT NULL UNIQUE);
        CREATE TABLE optimist_schemas (
            id TEXT NOT NULL, version INTEGER NOT NULL, content TEXT NOT NULL, PRIMARY KEY (id, version)
        ) WITHOUT ROWID;
        CREATE TABLE optimist_accounts (
            account_id TEXT PRIMARY KEY, kind TEXT NOT NULL DEFAULT 'person',       -- 'space' or 'public'
            email TEXT COLLATE NOCASE,              -- NULL: no person signs in to the account
            password TEXT NOT NULL, created_at TEXT NOT NULL, seq INTEGER NOT NULL DEFAULT 0, epoch TEXT,
            day INTEGER,                            -- of the last write
            floor INTEGER NOT NULL DEFAULT 0,       -- deleted rows up to this transaction may be forgotten
            reported INTEGER NOT NULL DEFAULT 0,    -- the app was told of the transactions up to this one
            row_count INTEGER NOT NULL DEFAULT 0    -- living rows
        ) WITHOUT ROWID;
        CREATE UNIQUE INDEX optimist_accounts_by_email ON optimist_accounts (email) WHERE email IS NOT NULL;
        CREATE TABLE optimist_account_epochs (
            account_id TEXT NOT NULL, epoch TEXT NOT NULL, first_seq INTEGER NOT NULL, PRIMARY KEY (account_id, epoch)
        ) WITHOUT ROWID;
        CREATE TABLE optimist_account_days (
            account_id TEXT NOT NULL, day INTEGER NOT NULL, first_seq INTEGER NOT NULL, PRIMARY KEY (account_id, day)
        ) WITHOUT ROWID;
        CREATE TABLE optimist_sessions (
            account_id TEXT NOT NULL, session_id TEXT NOT NULL, device_id TEXT NOT NULL,
            device_name TEXT NOT NULL, salt BLOB NOT NULL, generation INTEGER NOT NULL,
            confirmed INTEGER NOT NULL, refreshed_at REAL NOT NULL, ended TEXT, begun_at REAL,
            PRIMARY KEY (account_id, session_id)
        ) WITHOUT ROWID;
        CREATE TABLE optimist_invitations (hash BLOB PRIMARY KEY, ends_at REAL NOT NULL) WITHOUT ROWID;
        CREATE TABLE optimist_resets (
            account_id TEXT NOT NULL, hash BLOB NOT NULL, ends_at REAL NOT NULL, PRIMARY KEY (account_id, hash)
        ) WITHOUT ROWID;
        CREATE TABLE optimist_deleted_accounts (
            account_id TEXT PRIMARY KEY, deleted_at REAL NOT NULL, is_erased INTEGER NOT NULL,
            row_count INTEGER NOT NULL, session_count INTEGER NOT NULL, space_count INTEGER NOT NULL
        ) WITHOUT ROWID;
        CREATE TABLE optimist_pushes (
            account_id TEXT NOT NULL, person_id TEXT NOT NULL, device TEXT NOT NULL, number INTEGER NOT NULL,
            day INTEGER NOT NULL, PRIMARY KEY (account_id, person_id, device)
        ) WITHOUT ROWID;
        CREATE TABLE optimist_members (
            account_id TEXT NOT NULL, person_id TEXT NOT NULL, member_id TEXT NOT NULL, role TEXT NOT NULL,
            joined_seq INTEGER NOT NULL, ended_seq INTEGER, reason TEXT, PRIMARY KEY (account_id, person_id)
        ) WITHOUT ROWID;
        CREATE INDEX optimist_members_by_person ON optimist_members (person_id);
        CREATE TABLE optimist_audit (
            account_id TEXT NOT NULL, seq INTEGER NOT NULL, ordinal INTEGER NOT NULL, at INTEGER NOT NULL,  -- ms
            what TEXT NOT NULL, person_id TEXT, device TEXT, subject TEXT, detail TEXT,
            PRIMARY KEY (account_id, seq, ordinal)
        ) WITHOUT ROWID;
        CREATE TABLE optimist_rows (
            account_id TEXT NOT NULL, type TEXT NOT NULL, id TEXT NOT NULL, generation INTEGER NOT NULL,
            seq INTEGER NOT NULL, ordinal INTEGER NOT NULL, born_seq INTEGER NOT NULL, content TEXT NOT NULL, hidden TEXT,
            PRIMARY KEY (account_id, type, id)
        );
        CREATE INDEX optimist_rows_in_order ON optimist_rows (account_id, type, seq, ordinal);
        CREATE INDEX optimist_rows_deleted ON optimist_rows (account_id, seq, type) WHERE generation % 2 = 0;
        CREATE TABLE optimist_index (
            account_id TEXT NOT NULL, type TEXT NOT NULL, name TEXT NOT NULL, key TEXT NOT NULL,
            id TEXT NOT NULL, PRIMARY KEY (account_id, type, name, key, id)
        ) WITHOUT ROWID;

        """
}
