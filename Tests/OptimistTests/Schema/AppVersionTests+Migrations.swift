// This source file is part of the Optimist open source project, under the MIT licence.

import Foundation
import GRDB
import Optimist
import OptimistCore
@_spi(Internals) import OptimistWire
import Testing

@testable import Optimist

extension AppVersionTests {
    // MARK: - Renames

    @Test func `L1 a renamed table and column keep the state of their rows`() async throws {
        let device = try old()
        let items = ["clean", "pending", "rejected", "lost"].map { Shop.Item(title: $0, note: "n") }
        try await device.store.write { db in for item in items { try item.insert(db) } }
        try await device.sync(with: server)
        let before = try await device.store.entry(id: items[0].id)

        try await device.execute("UPDATE item SET title = 'no' WHERE title = 'rejected'")
        let refusal = RemotePush.Refusal(code: "invalidProperties", column: "title", message: "no")
        try await device.sync(with: server) { _ in refusal }
        try await device.execute("UPDATE item SET title = 'mine' WHERE title = 'lost'")
        let next = try await device.next()
        let theirs = ColumnClocks(common: WriteClock(stamp: Stamp(milliseconds: 1_790_000_900_000), device: "Other"))
        try await device.store.apply(
            [.merged(seq: 5, RowPatch(generation: 1, clocks: theirs, values: ["title": "theirs"]))],
            of: try #require(next))
        try await device.execute("UPDATE item SET title = 'edited' WHERE title = 'pending'")

        try device.open([Shop.Thing.self], migrate: Shop.renamed)
        let rows = try await device.rows("thing")
        #expect(Set(rows.values.compactMap { $0["name"]?.string }) == ["clean", "edited", "rejected", "theirs"])
        #expect(try await device.store.entry(id: items[0].id) == before)
        #expect(try await device.store.pendingCount() == 1)
        let pending = try await device.store.pendingRows()
        #expect(pending.first?.table == "thing" && pending.first?.columns.keys.first == "name")
        let rejections = try await device.store.rejections()
        #expect(rejections.first?.table == "thing" && rejections.first?.column == "name")
        #expect(rejections.first?.mine == ["name": "no"])
        let conflicts = try await device.store.conflicts()
        #expect(conflicts.first?.mine == ["name": "mine"] && conflicts.first?.theirs == ["name": "theirs"])

        device.store.countUnderOwnID()
        try await device.execute("UPDATE thing SET name = 'pending' WHERE name = 'edited'")
        #expect(try await device.store.pendingCount() == 0, "the server's value was kept under the column's new name")
        #expect(
            try await device.store.read { try String.fetchOne($0, sql: "SELECT state FROM optimist_state_thing") }
                != nil)
    }

    @Test func `L1 a page parked before a rename fits after it`() async throws {
        let device = try old()
        try await device.execute("CREATE UNIQUE INDEX one ON item(title)")
        let item = Shop.Item(title: "Boat")
        try await device.store.write { try item.insert($0) }
        let clocks = ColumnClocks(common: WriteClock(stamp: Stamp(milliseconds: 5), device: "Other"))
        let row = RemotePage.Row(
            table: "item", id: UUID().uuidString.lowercased(),
            content: .row(RowPatch(generation: 1, clocks: clocks, seq: 1, values: ["title": "Boat", "note": "x"])))
        try await device.apply(RemotePage(from: "m.0", cursor: "m.1", hasMore: false, rows: [row]))
        #expect(try await device.store.counts().parked == 1)
        try device.open([Shop.Thing.self], migrate: Shop.renamed)
        try await device.execute("UPDATE thing SET name = 'Ship'")
        try await device.apply(RemotePage(from: "m.1", cursor: "m.2", hasMore: false, rows: []))
        #expect(try await device.rows("thing")[row.id] == ["name": "Boat", "note": "x"])
    }

    @Test func `L1 a server that uses a column's former name does not erase the column`() async throws {
        let device = try old()
        let item = Shop.Item(title: "Boat", note: "old")
        try await device.store.write { try item.insert($0) }
        try await device.sync(with: server)
        try device.open([Shop.Thing.self], migrate: Shop.renamed)
        let clocks = ColumnClocks(common: WriteClock(stamp: Stamp(milliseconds: 1_790_000_900_000), device: "Other"))
        let patch = RowPatch(generation: 1, clocks: clocks, seq: 9, values: ["title": "Boat", "note": "new"])
        let row = RemotePage.Row(table: "thing", id: item.id.uuidString.lowercased(), content: .row(patch))
        #expect(
            try await device.store.apply(
                RemotePage(from: "m.1", cursor: "m.9", hasMore: false, rows: [row]), to: ["thing"], initialCursor: "m.0"
            ))
        #expect(try await device.rows("thing")[row.id] == ["name": "Boat", "note": "new"])
    }

    // MARK: - Writes of migrations

    @Test func `L1 W2 only the rows that a migration changed are sent`() async throws {
        let device = try new()
        let items = [" Boat", "Ship", "gone"].map { Shop.ColouredItem(title: $0, note: "n", likes: 2) }
        try await device.store.write { db in for item in items { try item.insert(db) } }
        try await device.sync(with: server)
        let sql = """
            UPDATE item SET title = trim(title), likes = likes + 1 WHERE title LIKE ' %';
            DELETE FROM item WHERE title = 'gone';
            INSERT INTO item(id, title, likes) VALUES (randomblob(16), 'made', 4);
            """
        try device.open([Shop.ColouredItem.self], migrate: Shop.trimmed(sql))
        let pending = try await device.store.pendingRows()
        #expect(Set(pending.map(\.kind)) == [.update, .delete, .create])
        #expect(pending.first { $0.kind == .update }.map { Set($0.columns.keys) } == ["title", "likes"])
        try await device.sync(with: server)
        let rows = server.rows("item").values
        #expect(Set(rows.compactMap { $0["title"]?.string }) == ["Boat", "Ship", "made"])
        #expect(rows.first { $0["title"] == "Boat" }?["likes"] == 3)
        #expect(rows.first { $0["title"] == "made" }?["likes"] == 4)
        #expect(try await device.store.pendingCount() == 0)
    }

    @Test func `L1 S9 a migration may grow a row beyond the server's limit`() async throws {
        let device = try new()
        try await device.store.write { try Shop.ColouredItem(title: "Boat").insert($0) }
        try await device.sync(with: server)
        let sql = "UPDATE item SET note = hex(zeroblob(\(RowSync.Limit.rowBytes)))"
        try device.open([Shop.ColouredItem.self], migrate: Shop.trimmed(sql))
        #expect(try await device.store.pendingRows().map(\.kind) == [.update])
    }

    @Test func `L1 a column that a migration adds with a default makes no row pending`() async throws {
        let device = try old()
        try await device.store.write { try Shop.Item(title: "Boat").insert($0) }
        try await device.sync(with: server)
        try device.open([Shop.ColouredItem.self], migrate: Shop.coloured)
        #expect(try await device.rows("item").values.first?["colour"] == "grey")
        #expect(try await device.store.pendingCount() == 0)
    }

    @Test func `L1 W2 a failing migration loses none of the writes of earlier migrations`() async throws {
        let device = try new()
        try await device.store.write { try Shop.ColouredItem(title: " Boat").insert($0) }
        try await device.sync(with: server)
        #expect(throws: DatabaseError.self) {
            try device.open([Shop.ColouredItem.self]) { migrator in
                Shop.trimmed("UPDATE item SET title = trim(title)")(&migrator)
                migrator.registerMigration("broken") { try $0.execute(sql: "SELECT nonsense") }
            }
        }
        try device.open([Shop.ColouredItem.self], migrate: Shop.trimmed("UPDATE item SET title = trim(title)"))
        #expect(try await patch(device)?.values == ["title": "Boat"])
    }

    /// Where the migrations insert a row whose id is the same on every device.
    enum Beginning: CaseIterable { case newFile, newTable, knownTable }

    @Test(arguments: Beginning.allCases)
    func `L1 a row that migrations insert loses to a user's edits of it`(beginning: Beginning) async throws {
        let id = UUID()
        let records: [any SyncedRecord.Type] = [Shop.Item.self, Shop.Tag.self]
        let inserting: (inout DatabaseMigrator) -> Void = { migrator in
            if beginning == .newTable { Shop.first(&migrator) } else { Shop.tagged(&migrator) }
            migrator.registerMigration("inbox") { db in
                if beginning == .newTable {
                    try db.execute(sql: "CREATE TABLE tag(id BLOB PRIMARY KEY NOT NULL, word TEXT NOT NULL DEFAULT '')")
                }
                try db.execute(sql: "INSERT INTO tag(id, word) VALUES (?, 'Inbox')", arguments: [id])
            }
        }
        func device(at milliseconds: Int64) throws -> Device {
            switch beginning {
            case .newFile: return try Device(records, at: milliseconds, migrate: inserting)
            case .newTable:
                let device = try Device([Shop.Item.self], at: milliseconds, migrate: Shop.first)
                try device.open(records, migrate: inserting)
                return device
            case .knownTable:
                let device = try Device(records, at: milliseconds, migrate: Shop.tagged)
                try device.open(records, migrate: inserting)
                return device
            }
        }
        let one = try device(at: 1_790_000_000_000)
        try await one.execute("UPDATE tag SET word = 'Post'")
        try await one.sync(with: server)
        let two = try device(at: 1_790_000_060_000)
        let pending = try await two.store.pendingRows().first
        #expect(pending?.columns["word"].map { $0.timeIntervalSince1970 >= 1_790_000_060 } == true)
        try await two.sync(with: server)
        try await one.sync(with: server)
        #expect(server.rows("tag").values.first == ["word": "Post"])
        for device in [one, two] { #expect(try await device.rows("tag") == server.rows("tag")) }
        #expect(try await two.store.conflicts().isEmpty, "no user wrote the lost value")
    }

    @Test func `L1 W5 a row older than the file's migrations gets the time of the opening`() async throws {
        let device = try Device([], migrate: Shop.first)
        try await device.execute("INSERT INTO item(id, title) VALUES (?, 'Boat')", [UUID()])
        try device.open([Shop.Item.self, Shop.Tag.self], migrate: Shop.tagged)
        let clocks = try await patch(device)?.clocks
        #expect(clocks?.common.map { $0.stamp >= Stamp(milliseconds: 1_790_000_000_000) } == true)
    }

    @Test func `L1 rows of a table with an undeclared rename get the time of the opening`() async throws {
        let device = try Device([Shop.Item.self], migrate: Shop.first)
        try await device.store.write { try Shop.Item(title: "Boat").insert($0) }
        try device.open([Shop.Tag.self]) { migrator in
            Shop.first(&migrator)
            migrator.registerMigration("tag") { db in
                try db.execute(sql: "ALTER TABLE item RENAME TO tag; ALTER TABLE tag RENAME COLUMN title TO word")
            }
        }
        let clocks = try await patch(device)?.clocks
        #expect(clocks?.common.map { $0.stamp >= Stamp(milliseconds: 1_790_000_000_000) } == true)
    }

    @Test func `L1 W2 a row from before the app used a store is one row on the server, whichever devices send it`()
        async throws
    {
        let (photo, server) = (Photo(title: "Lake"), AppServer())
        let copying: (inout DatabaseMigrator) -> Void = { migrator in
            Photo.migrate(&migrator)
            migrator.registerMigration("former") { try photo.insert($0) }
        }
        // One device copies the row in its first migration; the other already has it in the table.
        let one = try Device([Photo.self], migrate: copying)
        let file = one.folder.appending(path: "former.sqlite")
        let former = try DatabaseQueue(path: file.path)
        var migrator = DatabaseMigrator()
        Photo.migrate(&migrator)
        try migrator.migrate(former)
        try await former.write { try photo.insert($0) }
        try former.close()
        let other = try Store(at: file, synced: [Photo.self], migrate: Photo.migrate)
        #expect(try await one.store.pendingRows().map(\.kind) == [.create])
        #expect(try await other.pendingRows().map(\.kind) == [.create])
        try await one.sync(with: server)
        let batch = try #require(try await other.nextPush(PushLimit()))
        try await other.apply(server.push(batch.push), of: batch)
        #expect(server.rows("photo").count == 1)
        #expect(try await other.pendingCount() == 0)
    }
}
