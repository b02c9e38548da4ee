// This source file is part of the Optimist open source project, under the MIT licence.

import GRDB

extension EngineSchema {
    /// Groups, and rejections of several rows.
    static func upgradeToVersion2(_ db: Database) throws {
        try db.execute(
            sql: """
                CREATE TABLE optimist_join(             -- groups that share a row, by their first stamps
                    a INTEGER NOT NULL, b INTEGER NOT NULL, PRIMARY KEY(a, b)
                ) WITHOUT ROWID;
                CREATE TABLE optimist_whole(            -- groups that are refused whole if one of their rows is
                    grp INTEGER PRIMARY KEY NOT NULL
                );
                UPDATE optimist_row SET stamp = pending WHERE pending IS NOT NULL AND stamp IS NULL;
                ALTER TABLE optimist_parked ADD COLUMN parentTable INTEGER; -- the row it refers to, if that is missing
                ALTER TABLE optimist_parked ADD COLUMN parent;
                ALTER TABLE optimist_rejection ADD COLUMN bundle INTEGER;   -- the rejection it belongs to, null: itself
                CREATE INDEX optimist_rejection_bundle ON optimist_rejection(bundle) WHERE bundle IS NOT NULL;
                """)
    }
}
