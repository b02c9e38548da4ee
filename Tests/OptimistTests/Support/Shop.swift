// This source file is part of the Optimist open source project, under the MIT licence.

import Foundation
import GRDB
import Optimist

/// The versions of an app.
enum Shop {
    struct Item: Codable, Identifiable, SyncedRecord {
        static let databaseTableName = "item"
        var id = UUID()
        var title = ""
        var note: String?
    }

    /// Adds two columns.
    struct ColouredItem: Codable, Identifiable, SyncedRecord {
        static let databaseTableName = "item"
        static let syncRules = SyncRules(counters: ["likes"])
        var id = UUID()
        var title = ""
        var note: String?
        var colour: String?
        var likes = 0
    }

    /// Renames the table and a column.
    struct Thing: Codable, Identifiable, SyncedRecord {
        static let databaseTableName = "thing"
        static let syncRules = SyncRules(
            formerColumns: ["name": "heading", "heading": "title"], formerNames: ["item"])
        var id = UUID()
        var name = ""
        var note: String?
    }

    struct Tag: Codable, Identifiable, SyncedRecord {
        static let databaseTableName = "tag"
        var id = UUID()
        var word = ""
    }

    static func first(_ migrator: inout DatabaseMigrator) {
        migrator.registerMigration("item") { db in
            try db.execute(
                sql: "CREATE TABLE item(id BLOB PRIMARY KEY NOT NULL, title TEXT NOT NULL DEFAULT '', note TEXT)")
        }
    }

    static func coloured(_ migrator: inout DatabaseMigrator) {
        first(&migrator)
        migrator.registerMigration("colour") { db in
            try db.execute(
                sql: """
                    ALTER TABLE item ADD COLUMN colour TEXT DEFAULT 'grey';
                    ALTER TABLE item ADD COLUMN likes INTEGER NOT NULL DEFAULT 0;
                    """)
        }
    }

    static func renamed(_ migrator: inout DatabaseMigrator) {
        first(&migrator)
        migrator.registerMigration("thing") { db in
            try db.execute(sql: "ALTER TABLE item RENAME TO thing; ALTER TABLE thing RENAME COLUMN title TO name")
        }
    }

    static func tagged(_ migrator: inout DatabaseMigrator) {
        first(&migrator)
        migrator.registerMigration("tag") { db in
            try db.execute(sql: "CREATE TABLE tag(id BLOB PRIMARY KEY NOT NULL, word TEXT NOT NULL DEFAULT '')")
        }
    }

    static func trimmed(_ sql: String) -> (inout DatabaseMigrator) -> Void {
        { migrator in
            coloured(&migrator)
            migrator.registerMigration("trim") { try $0.execute(sql: sql) }
        }
    }
}
