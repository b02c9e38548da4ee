// This source file is part of the Optimist open source project, under the MIT licence.

extension EngineSchema {
    /// The engine's tables in a new file. A new version changes these and adds a step that changes older files in the
    /// same way.
    static let tables = """
        CREATE TABLE optimist_table(
            number INTEGER PRIMARY KEY,
            name TEXT NOT NULL UNIQUE,
            cursor TEXT,                        -- the state up to which everything has been received
            snapshot TEXT,                      -- the cursor that the snapshot noted with which the table starts
            place TEXT,                         -- the last id of the snapshot that was received
            received INTEGER NOT NULL DEFAULT 0,    -- how many rows of the snapshot were received
            total INTEGER,                      -- how many rows the snapshot has, roughly
            isComplete INTEGER NOT NULL DEFAULT 0,  -- whether what came after the snapshot has been received too
            since INTEGER,                      -- from which transaction on deleted rows have come too, null: unknown
            counters TEXT,                      -- the columns that count, as JSON, null: none
            editWins INTEGER NOT NULL DEFAULT 0,    -- whether an edit outlives a deletion
            seen INTEGER,                       -- while pages are to come: the server's last transaction at a page
            isResync INTEGER NOT NULL DEFAULT 0 -- whether the server may have forgotten deleted rows of it
        );
        CREATE TABLE optimist_column(
            tbl INTEGER NOT NULL, name TEXT NOT NULL, bit INTEGER NOT NULL, PRIMARY KEY(tbl, name)
        ) WITHOUT ROWID;
        CREATE TABLE optimist_node(             -- the devices whose clocks rows carry
            number INTEGER PRIMARY KEY,
            device TEXT NOT NULL UNIQUE,
            own INTEGER NOT NULL DEFAULT 0      -- an id of this device
        );
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
        CREATE INDEX optimist_remote_deleted ON optimist_remote(seq) WHERE generation & 1 = 0;
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
            unread INTEGER NOT NULL DEFAULT 0,  -- mask of what the server has changed since the edit covers it
            PRIMARY KEY(tbl, id)
        ) WITHOUT ROWID;
        CREATE INDEX optimist_edit_blocked ON optimist_edit(blocked) WHERE blocked IS NOT NULL;
        CREATE TABLE optimist_wait(             -- why an edit waits: see WaitTable
            tbl INTEGER NOT NULL, id NOT NULL,
            due INTEGER NOT NULL,               -- the row's: with another one the reason is void
            code TEXT NOT NULL, columnName TEXT, PRIMARY KEY(tbl, id)
        ) WITHOUT ROWID;
        CREATE TABLE optimist_join(             -- groups that share a row, by their first stamps
            a INTEGER NOT NULL, b INTEGER NOT NULL, PRIMARY KEY(a, b)
        ) WITHOUT ROWID;
        CREATE TABLE optimist_whole(            -- groups that are refused whole if one of their rows is
            grp INTEGER PRIMARY KEY NOT NULL
        );
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
        CREATE TABLE optimist_unseen(           -- rows that a resync has not brought again so far
            tbl INTEGER NOT NULL, id NOT NULL, PRIMARY KEY(tbl, id)
        ) WITHOUT ROWID;
        CREATE TABLE optimist_parked(           -- rows received that could not be applied yet
            tbl INTEGER NOT NULL, id NOT NULL, seq INTEGER NOT NULL, row TEXT NOT NULL,
            reason INTEGER NOT NULL,            -- see ParkedReason.Kind
            message TEXT,                       -- what SQLite said, null: it did not refuse the row
            parentTable INTEGER, parent,        -- the row it refers to, if that is missing
            PRIMARY KEY(tbl, id)
        );
        CREATE INDEX optimist_parked_parent ON optimist_parked(parentTable, parent) WHERE parentTable IS NOT NULL;
        CREATE TABLE optimist_rejection(
            number INTEGER PRIMARY KEY AUTOINCREMENT,
            tbl INTEGER NOT NULL, id NOT NULL, kind TEXT NOT NULL, code TEXT NOT NULL, columnName TEXT,
            message TEXT NOT NULL, mine TEXT NOT NULL, server TEXT, at INTEGER NOT NULL,
            bundle INTEGER,                     -- the rejection it belongs to, null: itself
            columns TEXT,                       -- all columns at fault, ["column"], null: columnName or none
            winner TEXT                         -- the id of the row that has the unique values, null: unknown
        );
        CREATE INDEX optimist_rejection_row ON optimist_rejection(tbl, id);
        CREATE INDEX optimist_rejection_bundle ON optimist_rejection(bundle) WHERE bundle IS NOT NULL;
        CREATE TABLE optimist_journal(          -- edits of the user's that lost
            number INTEGER PRIMARY KEY AUTOINCREMENT,
            tbl INTEGER NOT NULL, id NOT NULL, reason TEXT NOT NULL, mine TEXT NOT NULL, at INTEGER NOT NULL,
            theirs TEXT,                        -- what took the edit's place, null: nothing
            whole TEXT                          -- every column of a row that was deleted
        );
        """
}
