// This source file is part of the Optimist open source project, under the MIT licence.

import GRDB

/// What accounts need beyond signing in: invitations, reset tokens, and what is left of those that were deleted.
extension ServerDatabase {
    /// The third version's tables. Invitations belong to no account yet.
    static func addAccountCare(_ db: Database) throws {
        try db.execute(
            sql: """
                ALTER TABLE optimist_sessions ADD COLUMN begun_at REAL;
                CREATE TABLE optimist_invitations (hash BLOB PRIMARY KEY, ends_at REAL NOT NULL) WITHOUT ROWID;
                CREATE TABLE optimist_resets (
                    account_id TEXT NOT NULL, hash BLOB NOT NULL, ends_at REAL NOT NULL, PRIMARY KEY (account_id, hash)
                ) WITHOUT ROWID;
                CREATE TABLE optimist_deleted_accounts (
                    account_id TEXT PRIMARY KEY, deleted_at REAL NOT NULL, is_erased INTEGER NOT NULL
                ) WITHOUT ROWID;
                """)
    }

    /// The fifth version's columns: what a deleted account had. Accounts that were deleted before have zeros.
    static func addReceipts(_ db: Database) throws {
        try db.execute(
            sql: """
                ALTER TABLE optimist_deleted_accounts ADD COLUMN row_count INTEGER NOT NULL DEFAULT 0;
                ALTER TABLE optimist_deleted_accounts ADD COLUMN session_count INTEGER NOT NULL DEFAULT 0;
                """)
    }
}
