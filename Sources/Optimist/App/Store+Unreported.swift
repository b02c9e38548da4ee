// This source file is part of the Optimist open source project, under the MIT licence.

import GRDB

extension Store {
    /// The app's WITHOUT ROWID tables. SQLite does not report changes to them, so the store notifies live queries.
    static func unreportedTables(_ db: Database) throws -> [String] {
        try String.fetchAll(
            db,
            sql: """
                SELECT name FROM pragma_table_list
                WHERE schema = 'main' AND type = 'table' AND wr AND name NOT GLOB 'optimist_*'
                """)
    }

    /// Notifies live queries that this transaction may have changed some tables.
    static func notifyChanges(in tables: [String], _ db: Database) throws {
        for table in tables { try db.notifyChanges(in: Table(table)) }
    }
}
