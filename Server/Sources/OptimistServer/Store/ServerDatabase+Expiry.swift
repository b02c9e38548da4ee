// This source file is part of the Optimist open source project, under the MIT licence.

import GRDB

/// The columns for telling later that a deleted row, or a device's push number, may be forgotten.
extension ServerDatabase {
    /// - Parameter day: The present day. Rows that are there already count as changed on it.
    static func addExpiry(_ db: Database, day: Int) throws {
        try db.execute(
            sql: """
                ALTER TABLE optimist_accounts ADD COLUMN day INTEGER;
                ALTER TABLE optimist_accounts ADD COLUMN floor INTEGER NOT NULL DEFAULT 0;
                ALTER TABLE optimist_pushes ADD COLUMN day INTEGER NOT NULL DEFAULT 0;
                CREATE TABLE optimist_account_days (
                    account_id TEXT NOT NULL, day INTEGER NOT NULL, first_seq INTEGER NOT NULL,
                    PRIMARY KEY (account_id, day)
                ) WITHOUT ROWID;
                CREATE INDEX optimist_rows_deleted ON optimist_rows (account_id, seq, type) WHERE generation % 2 = 0;
                """)
        try db.execute(sql: "UPDATE optimist_accounts SET day = ? WHERE seq > 0", arguments: [day])
        try db.execute(sql: "UPDATE optimist_pushes SET day = ?", arguments: [day])
    }
}
