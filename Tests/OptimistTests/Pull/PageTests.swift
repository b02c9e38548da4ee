// This source file is part of the Optimist open source project, under the MIT licence.

import Foundation
import GRDB
import Optimist
import OptimistWire
import Testing

@testable import Optimist
@testable import OptimistCore

@Suite(.timeLimit(.minutes(20)))
struct PageTests {
    let phone: Phone
    var store: Store { phone.store }

    init() throws { phone = try Phone() }

    private let todo = Todo(content: "Tickets")
    private let whole: JSONObject = ["content": "Tickets", "date": "2026-11-21", "priority": 0, "done": false]

    @Test func `R1 a page and its cursor are applied together, and repeated or late pages change nothing`()
        async throws
    {
        let page = [pageRow(todo, seq: 1, whole)]
        try await store.receive(page, from: "e1.0", to: "e1.1")
        #expect(try await store.todos() == [todo])
        try await store.receive(
            [pageRow(todo, seq: 2, stamp: 1_790_000_001_000, ["content": "Two"])], from: "e1.1", to: "e1.2")
        let again = RemotePage(from: "e1.0", cursor: "e1.1", hasMore: false, rows: page)
        #expect(try await !store.apply(again, to: ["todo"], initialCursor: "e1.0"))
        #expect(try await store.todos().first?.content == "Two")
        #expect(try await store.nextPull().cursor == "e1.2")
    }

    @Test func `R3 received changes are not queued as the user's edits`() async throws {
        try await store.receive([pageRow(todo, seq: 1, whole)], from: "e1.0", to: "e1.1")
        try await store.receive(
            [pageRow(todo, seq: 2, stamp: 1_790_000_001_000, ["content": "Two"])], from: "e1.1", to: "e1.2")
        try await store.receive([tombstone(todo, seq: 3)], from: "e1.2", to: "e1.3")
        #expect(try await store.todos().isEmpty)
        #expect(try await store.pendingCount() == 0)
    }

    @Test func `R3 the app's triggers can detect that a remote change is being applied`() async throws {
        try await store.write { db in
            try db.execute(
                sql: """
                    CREATE TABLE log(remote INTEGER);
                    CREATE TRIGGER app AFTER INSERT ON todo BEGIN INSERT INTO log VALUES (optimist_applying()); END
                    """)
            try Todo(content: "mine").insert(db)
        }
        try await store.receive([pageRow(todo, seq: 1, whole)], from: "e1.0", to: "e1.1")
        #expect(try await store.read { try Int.fetchAll($0, sql: "SELECT remote FROM log") } == [0, 1])
    }

    @Test func `R1 a temporary table that shadows a synced table receives nothing`() async throws {
        try await store.write { try $0.execute(sql: "CREATE TEMP TABLE todo(id BLOB PRIMARY KEY, content TEXT, done)") }
        try await store.receive([pageRow(todo, seq: 1, whole)], from: "e1.0", to: "e1.1")
        #expect(try await store.todos() == [todo])
        try await store.receive(
            [pageRow(todo, seq: 2, stamp: 1_790_000_001_000, ["content": "Two"])], from: "e1.1", to: "e1.2")
        #expect(try await store.todos().first?.content == "Two")
        try await store.write { try $0.execute(sql: "UPDATE main.todo SET content = 'Three'") }
        #expect(try await store.nextPush(PushLimit())?.push.rows.count == 1)
        try await store.receive([tombstone(todo, seq: 3)], from: "e1.2", to: "e1.3")
        #expect(try await store.todos().isEmpty)
    }

    @Test func `R2 a received value leaves a pending column unchanged and becomes its base`() async throws {
        try await store.receive([pageRow(todo, seq: 1, whole)], from: "e1.0", to: "e1.1")
        try await store.write { try $0.execute(sql: "UPDATE todo SET content = 'mine'") }
        let theirs: JSONObject = ["content": "theirs", "date": "2026-11-21", "priority": 5, "done": false]
        try await store.receive(
            [pageRow(todo, seq: 2, stamp: 1_790_000_001_000, theirs)], from: "e1.1", to: "e1.2")
        let now = try #require(try await store.todos().first)
        #expect(now.content == "mine")
        #expect(now.priority == 5)
        try await store.write { try $0.execute(sql: "UPDATE todo SET content = 'theirs'") }
        #expect(try await store.pendingCount() == 0)
    }

    @Test func `R2 a received value with an equal clock is not written`() async throws {
        try await store.receive([pageRow(todo, seq: 1, whole)], from: "e1.0", to: "e1.1")
        try await store.write { db in
            try db.execute(sql: "CREATE TRIGGER app BEFORE UPDATE ON todo BEGIN SELECT RAISE(ABORT, 'written'); END")
        }
        try await store.receive([pageRow(todo, seq: 2, whole)], from: "e1.1", to: "e1.2")
        #expect(try await store.nextPull().cursor == "e1.2")
        #expect(try await store.read { try Int.fetchOne($0, sql: "SELECT count(*) FROM optimist_parked") } == 0)
    }

    @Test(arguments: ["ack echo", "echo ack", "old ack echo", "ack old echo"])
    func `R5 between verdict and echo the row shows the user's value, in any order`(order: String) async throws {
        try await store.receive([pageRow(todo, seq: 1, whole)], from: "e1.0", to: "e1.1")
        try await store.write { try $0.execute(sql: "UPDATE todo SET content = 'mine'") }
        let batch = try #require(try await store.nextPush(PushLimit()))
        var cursor = "e1.1"
        for step in order.split(separator: " ") {
            switch step {
            case "ack": try await store.apply([.accepted(seq: 5)], of: batch)
            case "old":
                var older = whole
                older["priority"] = 3
                try await store.receive(
                    [pageRow(todo, seq: 4, later: "priority", older)], from: cursor, to: "e1.4")
                cursor = "e1.4"
            default:
                var echo = whole
                echo["content"] = "mine"
                echo["priority"] = 3
                try await store.receive([pageRow(todo, seq: 5, later: "priority", echo)], from: cursor, to: "e1.5")
                cursor = "e1.5"
            }
            #expect(try await store.todos().first?.content == "mine")
        }
        #expect(try await store.pendingCount() == 0)
        #expect(try await store.todos().first?.priority == 3)
    }

    @Test func `R4 a row without its parent is parked, and the rest of the page is applied`() async throws {
        try await store.write { db in
            try db.execute(
                sql: """
                    CREATE TABLE parent(id TEXT PRIMARY KEY NOT NULL);
                    ALTER TABLE todo ADD COLUMN parent TEXT REFERENCES parent(id);
                    """)
        }
        try phone.reopen()
        var child = whole
        child["parent"] = "00000000-0000-4000-8000-000000000001"
        try await store.receive(
            [pageRow(todo, seq: 1, child), pageRow(Todo(content: "Other"), seq: 2, whole)], from: "e1.0", to: "e1.2")
        #expect(try await store.todos().count == 1)
        #expect(try await store.counts().parked == 1)
        try await store.write { db in
            try db.execute(sql: "INSERT INTO parent VALUES ('00000000-0000-4000-8000-000000000001')")
        }
        try await store.receive([], from: "e1.2", to: "e1.3")
        #expect(try await store.todos().count == 2)
        #expect(try await store.counts().parked == 0)
    }

    @Test func `M1 a null stays null on other devices, whatever the table's default`() async throws {
        try await store.write { try $0.execute(sql: "ALTER TABLE todo ADD COLUMN stars INTEGER DEFAULT 5") }
        try phone.reopen()
        try await store.receive([pageRow(todo, seq: 1, whole)], from: "e1.0", to: "e1.1")
        #expect(try await store.read { try Int.fetchOne($0, sql: "SELECT stars FROM todo") } == nil)
    }

    @Test func `R4 a null that the table forbids becomes the table's default`() async throws {
        var row = whole
        row["priority"] = .null
        try await store.receive([pageRow(todo, seq: 1, row)], from: "e1.0", to: "e1.1")
        #expect(try await store.todos().first?.priority == 0)
        #expect(try await store.counts().parked == 0)
    }

    @Test func `M2 a new life replaces every column`() async throws {
        var first = whole
        first["alarm"] = "2026-11-21T10:00:00.000Z"
        try await store.receive([pageRow(todo, seq: 1, first)], from: "e1.0", to: "e1.1")
        #expect(try await store.todos().first?.alarm != nil)
        try await store.receive(
            [pageRow(todo, seq: 3, generation: 3, ["content": "New", "date": "d", "priority": 1, "done": true])],
            from: "e1.1", to: "e1.3")
        let now = try #require(try await store.todos().first)
        #expect(now.content == "New")
        #expect(now.alarm == nil)
    }

    @Test func `R4 a row that breaks a constraint is parked, and the rest of the page is applied`() async throws {
        try await store.write { try $0.execute(sql: "CREATE UNIQUE INDEX one ON todo(date)") }
        let other = Todo(content: "Other")
        try await store.receive(
            [
                pageRow(todo, seq: 1, whole), pageRow(other, seq: 2, ["content": "Other", "date": "2026-11-21"]),
                pageRow(Todo(content: "Third"), seq: 3, ["content": "Third", "date": "2026-11-22"]),
            ],
            from: "e1.0", to: "e1.3")
        #expect(try await store.todos().map(\.content) == ["Third", "Tickets"])
        #expect(try await store.counts().parked == 1)
        try await store.receive([tombstone(todo, seq: 4)], from: "e1.3", to: "e1.4")
        try await store.receive([], from: "e1.4", to: "e1.5")
        #expect(try await store.todos().map(\.content) == ["Other", "Third"])
        #expect(try await store.counts().parked == 0)
    }

    @Test func `every kind of value survives a round trip`() async throws {
        let sent = Todo(
            content: "ä 🎈 '' \" \\", date: "", priority: -7, done: true,
            alarm: Date(timeIntervalSince1970: 1_790_000_000.5))
        try await store.write { try sent.insert($0) }
        guard case .create(let patch) = try await store.nextPush(PushLimit())?.push.rows.first?.change else {
            Issue.record("no create")
            return
        }
        #expect(patch.values["alarm"] == "2026-09-21T14:13:20.500Z")
        let other = try Phone()
        let row = RemotePage.Row(table: "todo", id: sent.wireID, content: .row(patch))
        try await other.store.receive([row], from: "e1.0", to: "e1.1")
        #expect(try await other.store.todos() == [sent])
    }

    @Test func `L5 a deletion is forgotten long after the server reported it, and an unsent deletion never`()
        async throws
    {
        let (own, late, unsent, alive) = (
            Todo(content: "own"), Todo(content: "late"), Todo(content: "unsent"), Todo(content: "alive")
        )
        try await store.write { db in for todo in [own, late, unsent, alive] { try todo.insert(db) } }
        try await store.pushAccepted(seq: 1)
        try await store.receive([pageRow(todo, seq: 2, whole)], from: "e1.0", to: "e1.2")
        try await store.receive([tombstone(todo, seq: 3)], from: "e1.2", to: "e1.3")
        _ = try await store.write { try own.delete($0) }
        try await store.pushAccepted(seq: 4)
        _ = try await store.write { try late.delete($0) }
        func known() async throws -> Set<UUID> {
            var known: Set<UUID> = []
            for row in [own, late, unsent, alive, todo] where try await store.entry(row) != nil { known.insert(row.id) }
            return known
        }
        let start = Date(timeIntervalSince1970: Double(phone.time.value) / 1000)
        func forget(day: Double, knowing seq: Int64) async throws {
            try await store.forgetDeletedRows(rememberedFor: 90, at: start + day * 86_400, knowing: seq)
        }
        try await forget(day: 1, knowing: 4)
        // The device sends the deletion only after 180 days, so the server remembers it from day 180.
        try await store.pushAccepted(seq: 5)
        _ = try await store.write { try unsent.delete($0) }
        try await forget(day: 180, knowing: 5)
        #expect(try await known() == [own.id, late.id, unsent.id, alive.id, todo.id])
        try await forget(day: 182, knowing: 5)
        #expect(try await known() == [late.id, unsent.id, alive.id])
        try await forget(day: 362, knowing: 5)
        #expect(try await known() == [late.id, unsent.id, alive.id])
        try await forget(day: 363, knowing: 5)
        #expect(try await known() == [unsent.id, alive.id])
    }
}
