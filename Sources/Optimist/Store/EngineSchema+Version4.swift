// This source file is part of the Optimist open source project, under the MIT licence.

import GRDB

extension EngineSchema {
    /// Tables that were received from the beginning once more. For tables of older files this is unknown: they may have
    /// been.
    static func upgradeToVersion4(_ db: Database) throws {
        try db.execute(
            sql: """
                ALTER TABLE optimist_table ADD COLUMN isResync INTEGER NOT NULL DEFAULT 0;
                UPDATE optimist_table SET isResync = 1;
                """)
    }
}
