// This source file is part of the Optimist open source project, under the MIT licence.

import GRDB

extension EngineSchema {
    /// Notes which tables the device receives again after the server may have forgotten deleted rows. Older files do
    /// not tell this, so all their tables count as such.
    static func upgradeToVersion4(_ db: Database) throws {
        try db.execute(
            sql: """
                ALTER TABLE optimist_table ADD COLUMN isResync INTEGER NOT NULL DEFAULT 0;
                UPDATE optimist_table SET isResync = 1;
                """)
    }
}
