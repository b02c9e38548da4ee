// This source file is part of the Optimist open source project, under the MIT licence.

import GRDB

extension EngineSchema {
    /// Adds pages that end in the middle of a catch-up, and indexes deleted rows by the server's transactions.
    static func upgradeToVersion3(_ db: Database) throws {
        // While more pages are to come, this column has the server's last transaction when it made a page. Null: no
        // more pages are to come. Some files of version 2 already have the column.
        if try !db.columns(in: "optimist_table").contains(where: { $0.name == "seen" }) {
            try db.execute(sql: "ALTER TABLE optimist_table ADD COLUMN seen INTEGER")
        }
        try db.execute(
            sql: """
                DROP INDEX optimist_deleted;
                CREATE INDEX optimist_deleted ON optimist_row(seq) WHERE generation & 1 = 0;
                """)
    }
}
