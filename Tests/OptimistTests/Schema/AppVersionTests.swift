// This source file is part of the Optimist open source project, under the MIT licence.

import Foundation
import GRDB
import Optimist
import OptimistCore
import OptimistWire
import Testing

@testable import Optimist

@Suite(.timeLimit(.minutes(20)))
struct AppVersionTests {
    let server = AppServer()

    func old() throws -> Device { try Device([Shop.Item.self], migrate: Shop.first) }
    func new() throws -> Device { try Device([Shop.ColouredItem.self], migrate: Shop.coloured) }

    func patch(_ device: Device) async throws -> RowPatch? {
        switch try await device.next()?.push.rows.first?.change {
        case .create(let patch), .update(let patch), .move(_, let patch, _): patch
        default: nil
        }
    }

    // MARK: - Columns and tables of a newer app

    @Test func `L1 a newer app's values are kept and appear when a migration adds the column`() async throws {
        let (old, new) = (try old(), try new())
        let item = Shop.ColouredItem(title: "Boat", colour: "red", likes: 3)
        try await new.store.write { try item.insert($0) }
        try await new.sync(with: server)
        try await old.sync(with: server)
        try await new.execute("UPDATE item SET colour = 'blue', likes = likes + 1")
        try await new.sync(with: server)
        try await old.sync(with: server)
        #expect(try await old.rows("item").values.first == ["title": "Boat"])

        try old.open([Shop.ColouredItem.self], migrate: Shop.coloured)
        let seen = try await old.rows("item").values.first
        #expect(seen == ["title": "Boat", "colour": "blue", "likes": 4])
        #expect(try await old.store.pendingCount() == 0)
        try await old.execute("UPDATE item SET likes = likes + 1")
        try await old.sync(with: server)
        #expect(server.rows("item").values.first == ["title": "Boat", "colour": "blue", "likes": 5])
    }

    @Test func `L1 kept values are removed with their row`() async throws {
        let (old, new) = (try old(), try new())
        let item = Shop.ColouredItem(title: "Boat", colour: "red")
        try await new.store.write { try item.insert($0) }
        try await new.sync(with: server)
        try await old.sync(with: server)
        try await new.execute("DELETE FROM item")
        try await new.sync(with: server)
        try await old.sync(with: server)
        #expect(try await old.store.read { try Int.fetchOne($0, sql: "SELECT count(*) FROM optimist_unknown") } == 0)
    }

    /// The new app creates a row, the old app replaces it, and both sync.
    private func replace(_ item: Shop.ColouredItem, of new: Device, on old: Device) async throws {
        try await new.store.write { try item.insert($0) }
        try await new.sync(with: server)
        try await old.sync(with: server)
        try await old.store.write { try Shop.Item(id: item.id, title: "Ship").insert($0, onConflict: .replace) }
        try await old.sync(with: server)
        try await new.sync(with: server)
    }

    @Test func `L1 an old app that replaces a row does not erase columns that it does not know`() async throws {
        let (old, new) = (try old(), try new())
        try await replace(Shop.ColouredItem(title: "Boat", colour: "red"), of: new, on: old)
        #expect(server.rows("item").values.first == ["title": "Ship", "colour": "red", "likes": 0])
        #expect(try await new.rows("item").values.first == ["title": "Ship", "colour": "red", "likes": 0])
    }

    @Test func `L1 a value received below an old app's replacement is sent with the new life`() async throws {
        let (old, new) = (try old(), try new())
        let item = Shop.ColouredItem(title: "Boat", colour: "red")
        try await new.store.write { try item.insert($0) }
        try await new.sync(with: server)
        try await old.sync(with: server)
        try await old.store.write { try Shop.Item(id: item.id, title: "Ship").insert($0, onConflict: .replace) }
        try await new.execute("UPDATE item SET colour = 'blue'")
        try await new.sync(with: server)
        try await old.apply(try await old.pull(from: server))
        try await old.sync(with: server)
        try await new.sync(with: server)
        #expect(try await new.rows("item").values.first == ["title": "Ship", "colour": "blue", "likes": 0])
    }

    @Test func `L1 M3 an old app that replaces a row keeps a count that it does not know`() async throws {
        let (old, new) = (try old(), try new())
        try await replace(Shop.ColouredItem(title: "Boat", likes: 3), of: new, on: old)
        #expect(try await old.store.rejections().isEmpty)
        #expect(server.rows("item").values.first == ["title": "Ship", "likes": 3])
        #expect(try await new.rows("item").values.first == ["title": "Ship", "likes": 3])
    }

    @Test func `L1 an old app that updates an entire record sends only the changed columns`() async throws {
        let (old, new) = (try old(), try new())
        let item = Shop.ColouredItem(title: "Boat", colour: "red")
        try await new.store.write { try item.insert($0) }
        try await new.sync(with: server)
        try await old.sync(with: server)
        try await old.store.write { try Shop.Item(id: item.id, title: "Ship").update($0) }
        #expect(try await patch(old)?.values == ["title": "Ship"])
        try await old.sync(with: server)
        #expect(server.rows("item").values.first?["colour"] == "red")
    }

    @Test func `L1 a table new to the app is received from the beginning`() async throws {
        let (old, new) = (try old(), try Device([Shop.Item.self, Shop.Tag.self], migrate: Shop.tagged))
        try await new.store.write { db in
            try Shop.Item(title: "Boat").insert(db)
            try Shop.Tag(word: "water").insert(db)
        }
        try await new.sync(with: server)
        try await old.sync(with: server)
        #expect(try await old.rows("item").count == 1)
        try old.open([Shop.Item.self, Shop.Tag.self], migrate: Shop.tagged)
        #expect(try await old.store.nextPull().tables == ["tag"])
        let next = try await old.store.nextPull()
        let page = try await server.pull(
            RemotePage.Request(tables: next.tables, cursor: next.cursor ?? "m.0", limit: 100))
        #expect(try await old.store.apply(page, to: next.tables, initialCursor: "m.0"))
        #expect(try await old.rows("tag").values.first == ["word": "water"])
        #expect(try await old.store.pendingCount() == 0)
    }

    @Test func `L1 M1 a column without a server value accepts a value with an older clock`() async throws {
        let (early, late) = (try old(), try Device([Shop.Item.self], at: 1_790_000_060_000, migrate: Shop.first))
        let item = Shop.Item(title: "Boat")
        try await early.store.write { try item.insert($0) }
        try await early.sync(with: server)
        try await late.sync(with: server)
        try await early.execute("UPDATE item SET note = 'early'")
        try await late.execute("UPDATE item SET title = 'late'")
        try await late.sync(with: server)
        let third = try old()
        try await third.sync(with: server)
        try await early.sync(with: server)
        try await third.sync(with: server)
        #expect(try await third.rows("item").values.first == ["title": "late", "note": "early"])
    }

    @Test func `L1 R4 a migration's default is not parked as the server's value`() async throws {
        let new = try Device([Shop.ColouredItem.self], at: 1_789_999_000_000, migrate: Shop.coloured)
        let old = try old()
        try await old.sync(with: server)
        let item = Shop.ColouredItem(title: "Boat", colour: "red")
        try await new.store.write { try item.insert($0) }
        try await old.store.write { try Shop.Item(id: item.id, title: "Raft").insert($0) }
        new.advance(2_000_000)
        try await new.execute("UPDATE item SET title = 'Ship'")
        try await new.sync(with: server)
        try old.open([Shop.ColouredItem.self], migrate: Shop.coloured)
        let page = try await old.pull(from: server)

        // The answer is "Ship", which does not fit until the app allows it.
        try await old.execute(
            "CREATE TRIGGER app BEFORE UPDATE ON item WHEN NEW.title = 'Ship' BEGIN SELECT RAISE(ABORT, 'no'); END")
        let batch = try #require(try await old.next())
        try await old.store.apply(try await server.push(batch.push), of: batch)
        #expect(try await old.store.read { try !ParkedRows($0).isEmpty })
        try await old.execute("DROP TRIGGER app")
        let other = RowPatch(seq: 1, values: ["title": "Oar"])
        try await old.apply(
            RemotePage(
                from: page.from, cursor: page.from, hasMore: false,
                rows: [RemotePage.Row(table: "item", id: UUID().uuidString.lowercased(), content: .row(other))]))
        let id = item.id.uuidString.lowercased()
        #expect(try await old.rows("item")[id]?["title"] == "Ship")

        // The colour was written before the row was created here, and arrives in a page from before the push.
        try await old.apply(page)
        #expect(try await old.rows("item")[id]?["colour"] == "red")
    }

    @Test func `L1 R2 a migration's default is not part of a row received before the answer`()
        async throws
    {
        let device = try old()
        let item = Shop.Item(title: "Raft")
        try await device.store.write { try item.insert($0) }
        try device.open([Shop.ColouredItem.self], migrate: Shop.coloured)
        let batch = try #require(try await device.next())
        func theirs(_ values: JSONObject) -> RowPatch {
            let clock = WriteClock(stamp: Stamp(milliseconds: 1_790_000_100_000), device: "Old")
            return RowPatch(generation: 1, clocks: ColumnClocks(common: clock), seq: 1, values: values)
        }
        let row = RemotePage.Row(
            table: "item", id: item.id.uuidString.lowercased(), content: .row(theirs(["title": "Ship"])))
        try await device.apply(RemotePage(from: "m.0", cursor: "m.1", hasMore: false, rows: [row]))
        #expect(try await device.store.entry(id: item.id)?.remote.isElsewhere == false)

        // The answer is also "Ship", which does not fit until the app allows it.
        try await device.execute(
            "CREATE TRIGGER app BEFORE UPDATE ON item WHEN NEW.title = 'Ship' BEGIN SELECT RAISE(ABORT, 'no'); END")
        try await device.store.apply([.merged(seq: 2, theirs(["title": "Ship"]))], of: batch)
        let parked = try await device.store.read { db in
            try ParkedRows(db).content(RowRef(table: 1, id: item.id.databaseValue))
        }
        guard case .row(let patch)? = parked else {
            Issue.record("nothing is parked")
            return
        }
        #expect(patch.values["title"] == "Ship")
        #expect(patch.values["colour"] == nil)
    }

    /// The table forbids null, so another device shows its default.
    @Test(arguments: [true, false])
    func `V2 L1 a column without a server value returns to its default when its row is refused`(
        isSentFirst: Bool
    ) async throws {
        let strict: (inout DatabaseMigrator) -> Void = { migrator in
            Shop.first(&migrator)
            migrator.registerMigration("colour") { db in
                try db.execute(
                    sql: """
                        ALTER TABLE item ADD COLUMN colour TEXT NOT NULL DEFAULT 'red';
                        ALTER TABLE item ADD COLUMN likes INTEGER NOT NULL DEFAULT 0;
                        """)
            }
        }
        let new = try Device([Shop.ColouredItem.self], migrate: strict)
        let item = Shop.ColouredItem(title: "Mine", note: "mine", colour: "blue")
        try await new.store.write { try item.insert($0) }
        let early = isSentFirst ? try await new.next() : nil
        let id = item.id.uuidString.lowercased()
        let theirs = RowPatch(
            generation: 1, clocks: ColumnClocks(common: WriteClock(stamp: Stamp(milliseconds: 5), device: "Old")),
            seq: 1,
            values: ["title": "Theirs"])
        try await new.apply(
            RemotePage(
                from: "m.0", cursor: "m.1", hasMore: false,
                rows: [RemotePage.Row(table: "item", id: id, content: .row(theirs))]))
        let late = isSentFirst ? nil : try await new.next()
        let batch = try #require(early ?? late)
        try await new.store.apply([.rejected(RemotePush.Refusal(code: "forbidden", message: "no"))], of: batch)
        #expect(try await new.rows("item")[id] == ["title": "Theirs", "colour": "red", "likes": 0])
        #expect(try await new.store.counts().parked == 0)
        #expect(try await new.store.counts().pending == 0)
        let colour = try #require(new.store.layouts[0][column: "colour"])
        let known = try await new.store.entry(id: item.id)?.remote.presence.columns
        #expect(known.map { $0 & colour.mask } == 0, "the default is not a value of the server")
    }

    // MARK: - Rows that the triggers missed

    @Test(arguments: [false, true])
    func `W5 a row that the app's trigger creates while a page is applied is pending after the next opening`(
        isEdited: Bool
    ) async throws {
        let device = try Device([Shop.Item.self, Shop.Tag.self], migrate: Shop.tagged)
        try await device.execute(
            """
            CREATE TRIGGER tagging AFTER INSERT ON item
            BEGIN INSERT INTO tag(id, word) VALUES (randomblob(16), NEW.title); END
            """)
        let other = try old()
        try await other.store.write { try Shop.Item(title: "Boat").insert($0) }
        try await other.sync(with: server)
        try await device.sync(with: server)
        #expect(try await device.rows("tag").count == 1)
        if isEdited {
            try await device.execute("UPDATE tag SET word = 'Ship'")
            #expect(
                try await device.store.pendingCount() == 0, "the row is sent in full, and no part of it before that")
        }
        try device.open([Shop.Item.self, Shop.Tag.self], migrate: Shop.tagged)
        #expect(try await device.store.pendingRows().map(\.table) == ["tag"])
        try await device.sync(with: server)
        #expect(server.rows("tag").values.first?["word"] == (isEdited ? "Ship" : "Boat"))
    }

    @Test func `L2 M3 counts from before their table was synced are the rows' initial totals`() async throws {
        let device = try Device([], migrate: Shop.coloured)
        try await device.execute("INSERT INTO item(id, title, likes) VALUES (randomblob(16), 'Boat', 7)")
        try device.open([Shop.ColouredItem.self], migrate: Shop.coloured)
        try await device.sync(with: server)
        #expect(server.rows("item").values.first?["likes"] == 7)
    }

    @Test func `the linter reports a foreign key to an unsynced table`() throws {
        let queue = try DatabaseQueue()
        try queue.write {
            try $0.execute(
                sql: """
                    CREATE TABLE project(id BLOB PRIMARY KEY NOT NULL, title TEXT, part BLOB REFERENCES project(id));
                    CREATE TABLE step(
                        id BLOB PRIMARY KEY NOT NULL, text TEXT NOT NULL DEFAULT '', project BLOB REFERENCES Project(id));
                    """)
        }
        let problems = try Store.validate([Step.self], in: queue)
        #expect(problems.map(\.column) == ["project"])
        #expect(problems.allSatisfy { !$0.isFatal && $0.description.contains("Project, which is not synced") })
        #expect(try Store.validate([Step.self, Project.self], in: queue).isEmpty)
    }

    private struct Requiring: Codable, Identifiable, SyncedRecord {
        static let databaseTableName = "step"
        static let syncRules = SyncRules(formerColumns: ["word": "text"])
        var id = UUID()
        var word = ""
        var project = UUID()
    }

    @Test func `the linter reports required columns of later versions, but not of the first`() throws {
        let queue = try DatabaseQueue()
        func migrate(_ migrator: inout DatabaseMigrator) {
            migrator.registerMigration("first") { db in
                try db.execute(
                    sql: """
                        CREATE TABLE project(id BLOB PRIMARY KEY NOT NULL, title TEXT NOT NULL);
                        CREATE TABLE step(
                            id BLOB PRIMARY KEY NOT NULL, text TEXT NOT NULL, project BLOB NOT NULL REFERENCES project(id));
                        """)
            }
            migrator.registerMigration("later") { db in
                try db.execute(
                    sql: """
                        DROP TABLE step;
                        CREATE TABLE step(
                            id BLOB PRIMARY KEY NOT NULL, word TEXT NOT NULL, project BLOB NOT NULL REFERENCES project(id),
                            place INTEGER NOT NULL, colour TEXT NOT NULL DEFAULT '');
                        """)
            }
        }
        var migrator = DatabaseMigrator()
        migrate(&migrator)
        try migrator.migrate(queue)
        let records: [any SyncedRecord.Type] = [Requiring.self, Project.self]
        #expect(try Store.validate(records, in: queue).isEmpty)
        let problems = try Store.validate(records, in: queue, migrate: migrate)
        #expect(problems.map(\.column) == ["place"])
        #expect(problems.allSatisfy { !$0.isFatal && $0.description.contains("NOT NULL without a default") })
    }

    @Test func `R3 the linter reports triggers that write without checking whether a page is being applied`() throws {
        let queue = try DatabaseQueue()
        try queue.write {
            try $0.execute(
                sql: """
                    CREATE TABLE project(id BLOB PRIMARY KEY NOT NULL, title TEXT);
                    CREATE TABLE step(id BLOB PRIMARY KEY NOT NULL, text TEXT, project BLOB REFERENCES project(id));
                    CREATE TABLE log(text TEXT);
                    CREATE TRIGGER updating AFTER INSERT ON step BEGIN UPDATE OR IGNORE "Project" SET title = ''; END;
                    CREATE TRIGGER deleting AFTER UPDATE ON Step BEGIN DELETE FROM step WHERE text IS NULL; END;
                    CREATE TRIGGER inserting AFTER DELETE ON step BEGIN INSERT OR REPLACE INTO step(id) VALUES (OLD.id); END;
                    CREATE TRIGGER logging AFTER DELETE ON step BEGIN INSERT INTO log SELECT text FROM step; END;
                    CREATE TRIGGER asking AFTER DELETE ON step WHEN NOT optimist_applying()
                    BEGIN UPDATE project SET title = ''; END;
                    CREATE TRIGGER local AFTER INSERT ON log BEGIN UPDATE project SET title = ''; END;
                    """)
        }
        let problems = try Store.validate([Step.self, Project.self], in: queue)
        #expect(
            problems.allSatisfy { $0.table == "step" && !$0.isFatal && $0.description.contains("optimist_applying()") })
        let names = problems.compactMap { $0.description.split(separator: " ").dropFirst(3).first }
        #expect(names == ["deleting", "inserting", "updating"])
    }

    @Test func `the linter treats TIMESTAMP like DATETIME`() throws {
        struct Event: Codable, Identifiable, SyncedRecord {
            static let databaseTableName = "event"
            static func databaseDateEncodingStrategy(for column: String) -> DatabaseDateEncodingStrategy {
                .custom { _ in "whenever" }
            }
            var id: UUID
            var at: Date
        }
        let queue = try DatabaseQueue()
        try queue.write {
            try $0.execute(sql: "CREATE TABLE event(id BLOB PRIMARY KEY NOT NULL, at TIMESTAMP)")
        }
        #expect(try Store.validate([Event.self], in: queue).contains { $0.column == "at" && $0.isFatal })
    }
}
