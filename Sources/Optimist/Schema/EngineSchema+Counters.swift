// This source file is part of the Optimist open source project, under the MIT licence.

import GRDB

extension EngineSchema {
    /// Adds counters, the full journal, and the values of columns that this app does not know yet.
    static func addCountersAndUnknowns(_ db: Database) throws {
        try db.execute(
            sql: """
                CREATE TABLE optimist_counter(          -- what this device has counted, under each id it has had
                    tbl INTEGER NOT NULL, id NOT NULL, bit INTEGER NOT NULL, node INTEGER NOT NULL,
                    total INTEGER NOT NULL,             -- as the app's column contains it
                    stamp INTEGER NOT NULL,             -- of its last change
                    confirmed INTEGER NOT NULL DEFAULT 0,   -- what the server is known to hold of it
                    seq INTEGER NOT NULL DEFAULT 0,     -- as of this transaction of the server
                    PRIMARY KEY(tbl, id, bit, node)
                ) WITHOUT ROWID;
                CREATE TABLE optimist_unknown(          -- values of columns that this app does not have
                    tbl INTEGER NOT NULL, id NOT NULL, row TEXT NOT NULL, PRIMARY KEY(tbl, id)
                ) WITHOUT ROWID;
                ALTER TABLE optimist_table ADD COLUMN counters TEXT;    -- the columns that count, as JSON, null: none
                ALTER TABLE optimist_table ADD COLUMN editWins INTEGER NOT NULL DEFAULT 0;
                ALTER TABLE optimist_journal ADD COLUMN theirs TEXT;    -- what took the edit's place, null: nothing
                ALTER TABLE optimist_journal ADD COLUMN whole TEXT;     -- every column of a row that was deleted
                ALTER TABLE optimist_row ADD COLUMN known INTEGER NOT NULL DEFAULT -1;  -- mask: has a value on the server
                ALTER TABLE optimist_node ADD COLUMN own INTEGER NOT NULL DEFAULT 0;    -- an id of this device
                UPDATE optimist_node SET own = 1
                WHERE number = (SELECT value FROM optimist_meta WHERE name = 'node');
                """)
    }
}
