// This source file is part of the Optimist open source project, under the MIT licence.

import Foundation
import GRDB
import Optimist
import OptimistCore
import OptimistWire
import Testing

@testable import Optimist

private enum App {
    struct Item: Codable, Identifiable, SyncedRecord {
        static let databaseTableName = "item"
        var id = UUID()
        var title = ""
        var note: String?
    }

    struct PlainItem: Codable, Identifiable, SyncedRecord {
        static let databaseTableName = "item"
        static let syncRules = SyncRules(removedColumns: ["note"])
        var id = UUID()
        var title = ""
    }

    /// Does not declare where its column `memo` comes from.
    struct SilentItem: Codable, Identifiable, SyncedRecord {
        static let databaseTableName = "item"
        var id = UUID()
        var title = ""
        var memo: String?
    }

    struct SpeakingItem: Codable, Identifiable, SyncedRecord {
        static let databaseTableName = "item"
        static let syncRules = SyncRules(formerColumns: ["memo": "note"])
        var id = UUID()
        var title = ""
        var memo: String?
    }

    static func memo(_ migrator: inout DatabaseMigrator) {
        first(&migrator)
        migrator.registerMigration("memo") { try $0.execute(sql: "ALTER TABLE item RENAME COLUMN note TO memo") }
    }

    static func tagged(_ migrator: inout DatabaseMigrator) {
        plain(&migrator)
        migrator.registerMigration("tags") { db in
            try db.execute(sql: "CREATE TABLE tag(id BLOB PRIMARY KEY NOT NULL, word TEXT NOT NULL DEFAULT '')")
        }
    }

    struct Tag: Codable, Identifiable, SyncedRecord {
        static let databaseTableName = "tag"
        var id = UUID()
        var word = ""
    }

    struct Picture: Codable, Identifiable, SyncedRecord {
        static let databaseTableName = "photo"
        static let syncRules = SyncRules(counters: ["views"], removedColumns: ["likes"])
        var id = UUID()
        var title = ""
        var views: Int?
    }

    struct RenamedItem: Codable, Identifiable, SyncedRecord {
        static let databaseTableName = "item"
        static let syncRules = SyncRules(formerColumns: ["note": "title"])
        var id = UUID()
        var note = ""
    }

    static func renamed(_ migrator: inout DatabaseMigrator) {
        plain(&migrator)
        migrator.registerMigration("renamed") { try $0.execute(sql: "ALTER TABLE item RENAME COLUMN title TO note") }
    }

    static func first(_ migrator: inout DatabaseMigrator) {
        migrator.registerMigration("item") { db in
            try db.execute(
                sql: """
                    CREATE TABLE item(id BLOB PRIMARY KEY NOT NULL, title TEXT NOT NULL DEFAULT '', note TEXT);
                    CREATE TABLE tag(id BLOB PRIMARY KEY NOT NULL, word TEXT NOT NULL DEFAULT '');
                    """)
        }
    }

    static func plain(_ migrator: inout DatabaseMigrator) {
        first(&migrator)
        migrator.registerMigration("plain") { db in
            try db.execute(sql: "ALTER TABLE item DROP COLUMN note; DROP TABLE tag")
        }
    }

    static func noted(_ migrator: inout DatabaseMigrator) {
        plain(&migrator)
        migrator.registerMigration("noted") { try $0.execute(sql: "ALTER TABLE item ADD COLUMN note TEXT") }
    }
}

extension AppVersionTests {
    /// Pushes everything, and pulls tables at different cursors.
    private func exchange(_ device: Device) async throws {
        try await device.push(to: server)
        for _ in 1...4 {
            let tables = try await device.store.nextPull().tables
            let page = try await device.pull(from: server)
            #expect(try await device.store.apply(page, to: tables, initialCursor: "m.0"))
        }
    }

    private func device() throws -> Device { try Device([App.Item.self, App.Tag.self], migrate: App.first) }

    @Test func `S4 L1 unsent edits of a removed column are not sent, and no row stays pending`() async throws {
        let device = try device()
        try await device.execute("INSERT INTO item(id, title, note) VALUES (?, 'Boat', 'red')", [UUID()])
        try await device.execute("INSERT INTO item(id, title) VALUES (?, 'Oar')", [UUID()])
        try await device.sync(with: server)
        try await device.execute("UPDATE item SET note = 'blue' WHERE title = 'Boat'")
        try await device.execute("UPDATE item SET note = 'long', title = 'Oars' WHERE title = 'Oar'")
        try await device.execute("INSERT INTO item(id, title, note) VALUES (?, 'Sail', 'white')", [UUID()])
        try device.open([App.PlainItem.self], migrate: App.plain)
        #expect(try await device.store.counts().pending == 2)
        let batch = try #require(try await device.next())
        #expect(batch.push.rows.count == 2)
        try await device.store.apply(try await server.push(batch.push), of: batch)
        #expect(try await device.store.counts().pending == 0)
        #expect(try await device.next() == nil)
        let notes = server.rows("item").values.map { [$0["title"]?.string, $0["note"]?.string] }
        #expect(Set(notes) == [["Boat", "red"], ["Oars", nil], ["Sail", nil]])
    }

    @Test(arguments: [false, true])
    func `L1 an undeclared rename is refused before it loses an unsent edit`(isNew: Bool) async throws {
        let device = try device()
        try await device.execute("INSERT INTO item(id, title, note) VALUES (?, 'Boat', 'red')", [UUID()])
        if !isNew { try await device.sync(with: server) }
        try await device.execute("UPDATE item SET note = 'blue'")
        for _ in 1...2 {
            let error = #expect(throws: OptimistError.self) {
                try device.open([App.SilentItem.self], migrate: App.memo)
            }
            #expect(error?.code == .invalidTable)
            #expect(error?.message.hasPrefix("item.note: ") == true)
            #expect(error?.message.contains("SyncRules.formerColumns: [\"its new name\": \"note\"]") == true)
        }
        try device.open([App.SpeakingItem.self], migrate: App.memo)
        #expect(try await patch(device)?.values["memo"] == "blue")
        if !isNew {
            try await device.execute("UPDATE item SET memo = 'red'")
            #expect(try await device.store.pendingCount() == 1, "an earlier launch may have sent the edit")
        }
    }

    @Test(arguments: [false, true])
    func `L1 a table that was dropped and recreated is received from the beginning`(isAtOnce: Bool) async throws {
        let device = try device()
        try await device.execute("INSERT INTO tag(id, word) VALUES (?, 'boat')", [UUID()])
        try await device.execute("INSERT INTO tag(id, word) VALUES (?, 'ship')", [UUID()])
        try await device.execute("INSERT INTO tag(id, word) VALUES (?, 'gone')", [UUID()])
        try await device.sync(with: server)
        try await device.execute("UPDATE tag SET word = 'lost' WHERE word = 'ship'")
        try await device.execute("DELETE FROM tag WHERE word = 'gone'")
        if !isAtOnce { try device.open([App.PlainItem.self], migrate: App.plain) }
        try device.open([App.PlainItem.self, App.Tag.self], migrate: App.tagged)
        #expect(try await device.rows("tag").isEmpty)
        try await exchange(device)
        #expect(Set(server.rows("tag").values.compactMap { $0["word"]?.string }) == ["boat", "ship"])
        #expect(try await device.rows("tag") == server.rows("tag"))
        #expect(try await device.store.pendingCount() == 0)
        try await device.execute("UPDATE tag SET word = 'barge' WHERE word = 'ship'")
        try await exchange(device)
        #expect(Set(server.rows("tag").values.compactMap { $0["word"]?.string }) == ["boat", "barge"])
    }

    @Test func `L1 a removed column that returns has the server's values`() async throws {
        let (device, other) = (try device(), try device())
        try await device.execute("INSERT INTO item(id, title, note) VALUES (?, 'Boat', 'red')", [UUID()])
        try await device.sync(with: server)
        try await other.sync(with: server)
        try device.open([App.PlainItem.self], migrate: App.plain)
        try await device.execute("UPDATE item SET title = 'Ship'")
        try await device.sync(with: server)
        try device.open([App.Item.self], migrate: App.noted)
        #expect(try await device.store.tableProgress().first { $0.table == "item" }?.isComplete == false)
        try await device.sync(with: server)
        try await other.sync(with: server)
        #expect(try await device.rows("item").values.first == ["title": "Ship", "note": "red"])
        #expect(try await device.rows("item") == other.rows("item"))
        try await device.execute("UPDATE item SET note = 'blue'")
        try await device.sync(with: server)
        #expect(server.rows("item").values.first?["note"] == "blue")
    }

    @Test func `L1 a column that takes a removed column's name keeps its unsent edits`() async throws {
        let device = try device()
        try await device.execute("INSERT INTO item(id, title, note) VALUES (?, 'Boat', 'red')", [UUID()])
        try await device.sync(with: server)
        try device.open([App.PlainItem.self], migrate: App.plain)
        try await device.execute("UPDATE item SET title = 'Ship'")
        try device.open([App.RenamedItem.self], migrate: App.renamed)
        #expect(try await patch(device)?.values == ["note": "Ship"])
    }

    @Test func `L1 values kept for a removed column are not given to the column that takes its name`() async throws {
        let (device, other) = (try device(), try device())
        try await device.execute("INSERT INTO item(id, title, note) VALUES (?, 'Boat', 'red')", [UUID()])
        try await device.sync(with: server)
        try await other.sync(with: server)
        try device.open([App.PlainItem.self], migrate: App.plain)
        other.advance(1_000)
        try await other.execute("UPDATE item SET note = 'blue'")
        try await other.sync(with: server)
        try await device.sync(with: server)
        try device.open([App.RenamedItem.self], migrate: App.renamed)
        #expect(try await device.rows("item").values.first == ["note": "Boat"])
    }

    @Test func `L1 M3 a removed counter that returns continues from the sum that the server confirmed`() async throws {
        let device = try Device([Photo.self], migrate: Photo.migrate)
        try await device.execute("INSERT INTO photo(id, title, likes) VALUES (?, 'Lake', 5)", [UUID()])
        try await device.sync(with: server)
        try await device.execute("UPDATE photo SET likes = likes + 2")
        let removed: (inout DatabaseMigrator) -> Void = { migrator in
            Photo.migrate(&migrator)
            migrator.registerMigration("removed") { try $0.execute(sql: "ALTER TABLE photo DROP COLUMN likes") }
        }
        try device.open([App.Picture.self], migrate: removed)
        #expect(try await device.store.counts().pending == 0)
        try device.open([Photo.self]) { migrator in
            removed(&migrator)
            migrator.registerMigration("back") { db in
                try db.execute(sql: "ALTER TABLE photo ADD COLUMN likes INTEGER NOT NULL DEFAULT 0")
            }
        }
        try await device.execute("UPDATE photo SET likes = likes + 1")
        try await device.sync(with: server)
        #expect(server.sums("photo", "likes").values.map(\.self) == [6])
        #expect(try await device.rows("photo").values.first?["likes"] == 6)
    }

    @Test func `Q3 L2 unsent rows of a table that is no longer synced are not counted`() async throws {
        let device = try device()
        try await device.execute("INSERT INTO tag(id, word) VALUES (?, 'new')", [UUID()])
        try await device.execute("INSERT INTO item(id, title) VALUES (?, 'Oar')", [UUID()])
        #expect(try await device.store.counts().pending == 2)
        try device.open([App.PlainItem.self], migrate: App.plain)
        #expect(try await device.store.counts().pending == 1)
        try await device.sync(with: server)
        #expect(try await device.store.counts().pending == 0)
    }
}
