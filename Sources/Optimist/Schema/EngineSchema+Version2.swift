// This source file is part of the Optimist open source project, under the MIT licence.

import GRDB

extension EngineSchema {
    /// Adds groups, and rejections of several rows.
    static func upgradeToVersion2(_ db: Database) throws {
        try db.execute(
            sql: """
                CREATE TABLE optimist_join(             -- groups that share a row, by their first stamps
                    a INTEGER NOT NULL, b INTEGER NOT NULL, PRIMARY KEY(a, b)
                ) WITHOUT ROWID;
                CREATE TABLE optimist_whole(            -- groups that are refused whole if one of their rows is
                    grp INTEGER PRIMARY KEY NOT NULL
                );
                DROP INDEX optimist_pending;            -- of a large group, the rows of one table are found by themselves
                CREATE INDEX optimist_pending ON optimist_row(pending, tbl) WHERE pending IS NOT NULL;
                CREATE INDEX optimist_deleted ON optimist_row(clock) WHERE generation & 1 = 0;
                UPDATE optimist_row SET stamp = pending WHERE pending IS NOT NULL AND stamp IS NULL;
                ALTER TABLE optimist_parked ADD COLUMN parentTable INTEGER; -- the row it refers to, if that is missing
                ALTER TABLE optimist_parked ADD COLUMN parent;
                CREATE INDEX optimist_parked_parent ON optimist_parked(parentTable, parent)
                    WHERE parentTable IS NOT NULL;
                ALTER TABLE optimist_rejection ADD COLUMN bundle INTEGER;   -- the rejection it belongs to, null: itself
                -- The snapshot that a table starts with: the cursor that it noted, the last id received, how many rows came
                -- and how many there are, roughly; and whether what came after it has been received too.
                ALTER TABLE optimist_table ADD COLUMN snapshot TEXT;
                ALTER TABLE optimist_table ADD COLUMN place TEXT;
                ALTER TABLE optimist_table ADD COLUMN received INTEGER NOT NULL DEFAULT 0;
                ALTER TABLE optimist_table ADD COLUMN total INTEGER;
                ALTER TABLE optimist_table ADD COLUMN isComplete INTEGER NOT NULL DEFAULT 0;
                UPDATE optimist_table SET isComplete = 1 WHERE cursor IS NOT NULL;
                -- From which transaction on deleted rows have come too. Null: unknown.
                ALTER TABLE optimist_table ADD COLUMN since INTEGER;
                -- 1: the server lost what it had confirmed of this row. How often it was put off since it was last edited.
                ALTER TABLE optimist_row ADD COLUMN healing INTEGER NOT NULL DEFAULT 0;
                ALTER TABLE optimist_row ADD COLUMN retries INTEGER NOT NULL DEFAULT 0;
                CREATE TABLE optimist_unseen(           -- rows that a resync has not brought again so far
                    tbl INTEGER NOT NULL, id NOT NULL, PRIMARY KEY(tbl, id)
                ) WITHOUT ROWID;
                CREATE INDEX optimist_rejection_bundle ON optimist_rejection(bundle) WHERE bundle IS NOT NULL;
                """)
    }
}
