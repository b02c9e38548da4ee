// This source file is part of the Optimist open source project, under the MIT licence.

import GRDB

enum KeptTime {
    /// In seconds since 1970.
    static func highest(_ db: Database) throws -> Double? {
        try Double.fetchOne(db, sql: "SELECT CAST(value AS REAL) FROM optimist_settings WHERE name = 'time'")
    }

    static func keep(_ time: Double, replaces: Bool, _ db: Database) throws {
        try db.execute(
            sql: """
                INSERT INTO optimist_settings (name, value) VALUES ('time', ?1)
                ON CONFLICT (name) DO UPDATE SET value = excluded.value
                WHERE ?2 OR CAST(excluded.value AS REAL) > CAST(value AS REAL)
                """, arguments: ["\(time)", replaces])
    }
}
