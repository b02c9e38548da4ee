// This source file is part of the Optimist open source project, under the MIT licence.

import GRDB

extension EngineSchema {
    /// Splits each row's record into two tables: what the server said of the row, and the row's unsent changes. A write
    /// touches only the second table.
    static func upgradeToVersion6(_ db: Database) throws {
        // The triggers name the table that this upgrade drops. They are created again when their table is prepared.
        try CaptureTriggers.removeAll(in: db)
        try db.execute(
            sql: """
                CREATE TABLE optimist_remote(           -- what the server last said of each row: see RemoteRow
                    tbl INTEGER NOT NULL,
                    id NOT NULL,                        -- as the app's table has it
                    generation INTEGER NOT NULL,        -- odd: alive, even: deleted, 0: the server does not have the row
                    seq INTEGER NOT NULL,               -- the server's last transaction known to have touched it
                    clock INTEGER NOT NULL,             -- the stamp of every column but the exceptions, 0: none
                    node INTEGER NOT NULL,              -- and its device
                    clocks TEXT,                        -- the exceptions, {"column":"clock"}
                    known INTEGER NOT NULL,             -- mask of the columns that have a value on the server
                    settled INTEGER NOT NULL,           -- the last push that the server answered for this row
                    PRIMARY KEY(tbl, id)
                ) WITHOUT ROWID;
                CREATE TABLE optimist_edit(             -- what is unsent of a row, never its values: see LocalEdit
                    tbl INTEGER NOT NULL, id NOT NULL,
                    generation INTEGER NOT NULL,        -- odd: alive here, even: deleted here
                    grp INTEGER NOT NULL,               -- its group: the stamp of the transaction that began it
                    place INTEGER NOT NULL,             -- the order within the group
                    stamp INTEGER NOT NULL,             -- of every dirty column but the exceptions
                    stamps TEXT,                        -- the exceptions, {"column":stamp}, or a clock that the server had
                    dirty INTEGER NOT NULL,             -- mask of what is unsent; bit 0 is the row's life
                    sent INTEGER NOT NULL DEFAULT 0,    -- mask of what was sent and is unanswered
                    base TEXT,                          -- what the server holds of dirty columns, as SQL literals; null: it
                                                        -- never had this life
                    due INTEGER,                        -- not to be sent before, in milliseconds since 1970
                    blocked TEXT,                       -- the row it waits for, as Type:id
                    retries INTEGER NOT NULL DEFAULT 0, -- how often the server has put it off
                    PRIMARY KEY(tbl, id)
                ) WITHOUT ROWID;
                INSERT INTO optimist_remote
                SELECT tbl, id, iif(pending IS NULL, generation, acked), seq, clock, node, clocks, known, settled
                FROM optimist_row WHERE pending IS NULL OR acked > 0 OR seq > 0 OR clock <> 0 OR clocks IS NOT NULL
                OR known <> -1 OR settled > 0;
                INSERT INTO optimist_edit
                SELECT tbl, id, generation, pending, key, coalesce(stamp, pending), stamps, dirty, sent,
                CASE WHEN acked >= generation OR stamps ->> '$.@life' IS NOT NULL THEN coalesce(base, '{}') END,
                due, blocked, retries FROM optimist_row WHERE pending IS NOT NULL;
                DROP TABLE optimist_row;
                -- The reason that rows of a cycle had: each waits for its own parent now.
                UPDATE optimist_parked SET reason = 1, parentTable = NULL, parent = NULL WHERE reason = 4;
                CREATE INDEX optimist_edit_group ON optimist_edit(grp, tbl, place);
                CREATE INDEX optimist_edit_blocked ON optimist_edit(blocked) WHERE blocked IS NOT NULL;
                CREATE INDEX optimist_remote_deleted ON optimist_remote(seq) WHERE generation & 1 = 0;
                """)
        try emptyStateViews(in: db)
    }
}
