// This source file is part of the Optimist open source project, under the MIT licence.

extension EngineSchema {
    /// The engine's tables in a new file. A new version changes these and adds a step that changes older files in the
    /// same way.
    static let tables = """
        CREATE TABLE optimist_table(
            number INTEGER PRIMARY KEY,
            name TEXT NOT NULL UNIQUE,
            counters TEXT,                      -- the counter columns as JSON, null: none
            editWins INTEGER NOT NULL DEFAULT 0,    -- whether a later edit undoes a deletion
            space TEXT                          -- SpaceRule as JSON, null: in the person's own account
        );
        CREATE TABLE optimist_scope(            -- the accounts whose rows the file has: see Scope
            number INTEGER PRIMARY KEY,         -- 0: the personal account
            epochs TEXT,                        -- the epochs of the remote's database as JSON, oldest first
            deletedSeq INTEGER,                 -- deleted rows up to this transaction are forgotten next
            deletedSeqAt INTEGER,               -- when deletedSeq was recorded, by the remote's clock, in milliseconds
            space BLOB UNIQUE,                  -- the id of the space, null: the personal account
            member BLOB,                        -- the id of the person's own row in optimist_member, null: unknown
            ticket TEXT                         -- the secret of the link by which this device joined, null: none
        );
        INSERT INTO optimist_scope(number) VALUES (0);
        CREATE TABLE optimist_progress(         -- how far a table of a scope was received: see TableProgress
            scope INTEGER NOT NULL, tbl INTEGER NOT NULL,
            cursor TEXT,                        -- everything up to this cursor was received
            snapshot TEXT,                      -- the cursor from before the snapshot, see RemoteSnapshot.at
            place TEXT,                         -- the last received id of the snapshot
            received INTEGER NOT NULL,          -- the number of received snapshot rows
            total INTEGER,                      -- the approximate size of the snapshot, in rows
            isComplete INTEGER NOT NULL,        -- whether all changes after the snapshot were received
            since INTEGER,                      -- deleted rows were received from this transaction on, null: unknown
            seen INTEGER,                       -- until the last page: the server's last transaction at a page
            isResync INTEGER NOT NULL,          -- whether the server may have forgotten deleted rows
            PRIMARY KEY(scope, tbl)
        ) WITHOUT ROWID;
        CREATE TABLE optimist_column(
            tbl INTEGER NOT NULL, name TEXT NOT NULL, bit INTEGER NOT NULL, PRIMARY KEY(tbl, name)
        ) WITHOUT ROWID;
        CREATE TABLE optimist_node(             -- the devices in the clocks of rows
            number INTEGER PRIMARY KEY,
            device TEXT NOT NULL UNIQUE,
            own INTEGER NOT NULL DEFAULT 0      -- see LaunchOrigin
        );
        CREATE TABLE optimist_remote(           -- the server's last known state of each row: see RemoteRow
            tbl INTEGER NOT NULL,
            id NOT NULL,                        -- as stored in the app's table
            generation INTEGER NOT NULL,        -- odd: alive, even: deleted, 0: the server does not have the row
            seq INTEGER NOT NULL,               -- the server's last known transaction on the row
            clock INTEGER NOT NULL,             -- the stamp of all columns except those in clocks, 0: none
            node INTEGER NOT NULL,              -- the stamp's device
            clocks TEXT,                        -- {"column":"clock"}
            known INTEGER NOT NULL,             -- mask of the columns with a value on the server
            settled INTEGER NOT NULL,           -- the last push that the server answered for this row
            scope INTEGER NOT NULL DEFAULT 0,   -- the scope where the server has the row
            departure TEXT,                     -- the row's last move: [scope, transaction]
            PRIMARY KEY(tbl, id)
        ) WITHOUT ROWID;
        CREATE INDEX optimist_remote_deleted ON optimist_remote(scope, seq) WHERE generation & 1 = 0;
        CREATE TABLE optimist_edit(             -- the unsent changes of a row, without values: see LocalEdit
            tbl INTEGER NOT NULL, id NOT NULL,
            generation INTEGER NOT NULL,        -- odd: alive here, even: deleted here
            grp INTEGER NOT NULL,               -- the row's group: the stamp of its first transaction
            place INTEGER NOT NULL,             -- the order within the group
            stamp INTEGER NOT NULL,             -- the stamp of all dirty columns except those in stamps
            stamps TEXT,                        -- {"column":stamp}, or a clock from the server
            dirty INTEGER NOT NULL,             -- mask of the unsent columns; bit 0 is the row's life
            sent INTEGER NOT NULL DEFAULT 0,    -- mask of the sent and unanswered columns
            base TEXT,                          -- the server's values of dirty columns, as SQL literals;
                                                -- null: it never had this life
            due INTEGER,                        -- not sent before this time, in milliseconds since 1970
            blocked TEXT,                       -- the row it waits for, as Type:id
            retries INTEGER NOT NULL DEFAULT 0, -- how often the server put the row off
            unread INTEGER NOT NULL DEFAULT 0,  -- mask of the columns changed on the server since the edit
            PRIMARY KEY(tbl, id)
        ) WITHOUT ROWID;
        CREATE INDEX optimist_edit_blocked ON optimist_edit(blocked) WHERE blocked IS NOT NULL;
        CREATE TABLE optimist_wait(             -- why an edit waits: see WaitTable
            tbl INTEGER NOT NULL, id NOT NULL,
            due INTEGER NOT NULL,               -- the row's due time; if it differs, the reason is void
            code TEXT NOT NULL, columnName TEXT, PRIMARY KEY(tbl, id)
        ) WITHOUT ROWID;
        CREATE TABLE optimist_join(             -- groups that share a row, by their first stamps
            a INTEGER NOT NULL, b INTEGER NOT NULL, PRIMARY KEY(a, b)
        ) WITHOUT ROWID;
        CREATE TABLE optimist_whole(            -- groups that the server refuses if it refuses one row
            grp INTEGER PRIMARY KEY NOT NULL
        );
        CREATE TABLE optimist_counter(          -- this device's counts, under each of its ids
            tbl INTEGER NOT NULL, id NOT NULL, bit INTEGER NOT NULL, node INTEGER NOT NULL,
            total INTEGER NOT NULL,             -- as contained in the app's column
            stamp INTEGER NOT NULL,             -- the stamp of the last change
            confirmed INTEGER NOT NULL DEFAULT 0,   -- the total that the server is known to have
            seq INTEGER NOT NULL DEFAULT 0,     -- the server's transaction for confirmed
            PRIMARY KEY(tbl, id, bit, node)
        ) WITHOUT ROWID;
        CREATE TABLE optimist_unknown(          -- values of columns that this app does not know
            tbl INTEGER NOT NULL, id NOT NULL, row TEXT NOT NULL, PRIMARY KEY(tbl, id)
        ) WITHOUT ROWID;
        CREATE TABLE optimist_unseen(           -- rows that a resync has not received again yet
            scope INTEGER NOT NULL, tbl INTEGER NOT NULL, id NOT NULL, PRIMARY KEY(scope, tbl, id)
        ) WITHOUT ROWID;
        CREATE TABLE optimist_parked(           -- received rows that cannot be applied yet
            scope INTEGER NOT NULL,             -- the scope whose page had the row
            tbl INTEGER NOT NULL, id NOT NULL, seq INTEGER NOT NULL, row TEXT NOT NULL,
            reason INTEGER NOT NULL,            -- see ParkedReason.Kind
            message TEXT,                       -- SQLite's message, null: it did not refuse the row
            parentTable INTEGER, parent,        -- the missing row that this one refers to
            PRIMARY KEY(tbl, id, scope)
        );
        CREATE INDEX optimist_parked_parent ON optimist_parked(parentTable, parent) WHERE parentTable IS NOT NULL;
        CREATE TABLE optimist_rejection(
            number INTEGER PRIMARY KEY AUTOINCREMENT,
            tbl INTEGER NOT NULL, id NOT NULL, kind TEXT NOT NULL, code TEXT NOT NULL, columnName TEXT,
            message TEXT NOT NULL, mine TEXT NOT NULL, server TEXT, at INTEGER NOT NULL,
            bundle INTEGER,                     -- the rejection it was taken back with, null: none
            columns TEXT,                       -- all columns at fault, ["column"], null: columnName or none
            winner TEXT                         -- the id of the row with the unique values, null: unknown
        );
        CREATE INDEX optimist_rejection_row ON optimist_rejection(tbl, id);
        CREATE INDEX optimist_rejection_bundle ON optimist_rejection(bundle) WHERE bundle IS NOT NULL;
        CREATE TABLE optimist_journal(          -- the user's edits that lost
            number INTEGER PRIMARY KEY AUTOINCREMENT,
            tbl INTEGER NOT NULL, id NOT NULL, reason TEXT NOT NULL, mine TEXT NOT NULL, at INTEGER NOT NULL,
            theirs TEXT,                        -- the replacing values, null: none
            whole TEXT                          -- all columns of a deleted row
        );
        """
}
