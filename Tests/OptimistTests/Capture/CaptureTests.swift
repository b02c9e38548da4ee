// This source file is part of the Optimist open source project, under the MIT licence.

import Foundation
import GRDB
import OptimistWire
import TestForm
import Testing

@testable import Optimist
@testable import OptimistCore

@Suite(.timeLimit(.minutes(20)))
struct CaptureTests {
    let phone: Phone
    var store: Store { phone.store }

    init() throws { phone = try Phone() }

    private func confirmedTodo(_ content: String = "Tickets") async throws -> Todo {
        let todo = Todo(content: content)
        try await store.write { try todo.insert($0) }
        try await store.pushAccepted(seq: 1)
        #expect(try await store.pendingCount() == 0)
        return todo
    }

    @Test func `W1 a write is in the app's table and in the outbox, or in neither`() async throws {
        let todo = Todo(content: "Tickets")
        try await store.write { try todo.insert($0) }
        #expect(try await store.todos() == [todo])
        #expect(try await store.pendingCount() == 1)
        await #expect(throws: CancellationError.self) {
            try await store.write { db in
                try Todo(content: "Never").insert(db)
                throw CancellationError()
            }
        }
        #expect(try await store.todos() == [todo])
        #expect(try await store.pendingCount() == 1)
    }

    @Test func `W1 a store opens its file with WAL and full synchronization by default`() throws {
        let file = phone.folder.appending(path: "durable.sqlite")
        let store = try Store(at: file, synced: [Todo.self], migrate: Todo.migrate)
        #expect(try store.pool.writeWithoutTransaction { try Int.fetchOne($0, sql: "PRAGMA synchronous") } == 2)
        #expect(try store.pool.read { try String.fetchOne($0, sql: "PRAGMA journal_mode") } == "wal")
    }

    @Test func `W2 a savepoint that rolls back leaves no trace`() async throws {
        try await store.write { db in
            try Todo(content: "Kept").insert(db)
            try db.inSavepoint {
                try Todo(content: "Undone").insert(db)
                return .rollback
            }
        }
        #expect(try await store.pendingCount() == 1)
    }

    @Test(arguments: [
        ("INSERT INTO todo(id, content) VALUES (x'00112233445566778899aabbccddeeff', 'b')", ["create b"]),
        ("INSERT OR REPLACE INTO todo(id, content) SELECT id, 'b' FROM todo", ["create b"]),
        (
            "INSERT INTO todo(id, content) SELECT id, 'b' FROM todo WHERE 1 ON CONFLICT(id) DO UPDATE SET content = 'b'",
            ["update b"]
        ),
        ("UPDATE todo SET content = other.c FROM (SELECT 'b' AS c) AS other", ["update b"]),
        (
            """
            INSERT INTO todo(id, content) VALUES (x'00112233445566778899aabbccddeeff', 'b');
            UPDATE OR REPLACE todo SET id = x'00112233445566778899aabbccddeeff' WHERE content = 'Tickets'
            """,
            ["create Tickets", "delete"]
        ),
        ("DELETE FROM todo", ["delete"]),
        ("UPDATE todo SET content = 'TICKETS'", ["update TICKETS"]),
    ])
    func `W2 every way of writing is captured`(sql: String, sent: [String]) async throws {
        _ = try await confirmedTodo()
        try await store.write { try $0.execute(sql: sql) }
        let push = try #require(try await store.nextPush(PushLimit())).push
        #expect(push.rows.map { Self.summary($0.change, "content") }.sorted() == sent)
    }

    private static func summary(_ change: RemotePush.Row.Change, _ column: String) -> String {
        func value(_ patch: RowPatch) -> String { patch.values[column].map { $0.string ?? "null" } ?? "nothing" }
        return switch change {
        case .create(let patch): "create \(value(patch))"
        case .update(let patch), .move(_, let patch, _): "update \(value(patch))"
        case .delete: "delete"
        }
    }

    @Test(arguments: [("CASCADE", "delete"), ("SET NULL", "update null")])
    func `W2 cascaded deletes and nulled references are captured`(action: String, sent: String) async throws {
        let desk = try Desk(onDelete: action)
        let trip = Project(title: "Trip")
        try await desk.store.take([.project(trip), .step(Step(text: "Tickets"), in: trip)])
        try await desk.store.write { _ = try Project.deleteAll($0) }
        let push = try #require(try await desk.store.nextPush(PushLimit())).push
        #expect(push.rows.filter { $0.table == "step" }.map { Self.summary($0.change, "project") } == [sent])
        #expect(push.rows.filter { $0.table == "project" }.map { Self.summary($0.change, "title") } == ["delete"])
    }

    @Test func `W2 a row displaced by INSERT OR REPLACE on a unique index is deleted on the server`() async throws {
        let todo = try await confirmedTodo()
        try await store.write { db in
            try db.execute(sql: "CREATE UNIQUE INDEX one ON todo(date)")
            try db.execute(
                sql: "INSERT OR REPLACE INTO todo(id, content, date) VALUES (randomblob(16), 'b', '2026-11-21')")
        }
        #expect(try await store.todos().map(\.content) == ["b"])
        #expect(try await store.entry(todo)?.generation == 2)
        #expect(try await store.pendingCount() == 2)
    }

    @Test func `W2 a changed primary key is a delete and an insert`() async throws {
        let todo = try await confirmedTodo()
        let moved = UUID()
        try await store.write { try $0.execute(sql: "UPDATE todo SET id = ?", arguments: [moved]) }
        #expect(try await store.entry(todo)?.generation == 2)
        #expect(try await store.entry(id: moved)?.generation == 1)
    }

    @Test func `W2 rows written by the app's triggers are captured`() async throws {
        try await store.write { db in
            try db.execute(
                sql: """
                    CREATE TRIGGER app AFTER INSERT ON todo WHEN NEW.content = 'parent'
                    BEGIN INSERT INTO todo(id, content) VALUES (randomblob(16), 'child'); END
                    """)
            try Todo(content: "parent").insert(db)
        }
        #expect(try await store.pendingCount() == 2)
    }

    @Test func `W2 a write without a store is refused`() throws {
        let queue = try DatabaseQueue(path: phone.file.path)
        #expect(throws: DatabaseError.self) {
            try queue.write { try Todo(content: "Smuggled").insert($0) }
        }
        #expect(try queue.read { try Todo.fetchCount($0) } == 0)
    }

    @Test func `W2 writes through a second store on the same file are captured`() async throws {
        let other = try Store(at: phone.file, synced: [Todo.self], migrate: Todo.migrate)
        try await other.write { try Todo(content: "Extension").insert($0) }
        #expect(try await store.pendingCount() == 1)
    }

    @Test func `W3 only columns whose value changed are marked`() async throws {
        var todo = try await confirmedTodo()
        todo.done = true
        let changed = todo
        try await store.write { try changed.update($0) }
        #expect(try await store.dirtyColumns(todo) == ["done"])
    }

    private struct Tag: Codable, Identifiable, SyncedRecord {
        static let databaseTableName = "tag"
        var id = UUID()
        var name: String
    }

    @Test func `W3 a change of case alone is captured, even under a NOCASE collation`() async throws {
        let store = try Store(at: phone.folder.appending(path: "tags.sqlite"), synced: [Tag.self]) { migrator in
            migrator.registerMigration("tag") { db in
                try db.create(table: "tag") { t in
                    t.primaryKey("id", .blob)
                    t.column("name", .text).notNull().defaults(to: "").collate(.nocase)
                }
            }
        }
        try await store.write { try Tag(name: "tickets").insert($0) }
        try await store.pushAccepted(seq: 1)
        try await store.write { try $0.execute(sql: "UPDATE tag SET name = 'Tickets'") }
        #expect(try await store.pendingCount() == 1)
    }

    @Test func `W3 writing the confirmed value back unmarks the column`() async throws {
        let todo = try await confirmedTodo()
        try await store.write { try $0.execute(sql: "UPDATE todo SET content = 'x', done = 1") }
        try await store.write { try $0.execute(sql: "UPDATE todo SET content = 'y'") }
        try await store.write { try $0.execute(sql: "UPDATE todo SET content = 'Tickets'") }
        #expect(try await store.dirtyColumns(todo) == ["done"])
        try await store.write { try $0.execute(sql: "UPDATE todo SET done = 0") }
        #expect(try await store.pendingCount() == 0)
        #expect(try await store.nextPush(PushLimit()) == nil)
    }

    @Test func `W3 an edit undone in the same transaction leaves nothing pending`() async throws {
        _ = try await confirmedTodo()
        try await store.write { db in
            try db.execute(sql: "UPDATE todo SET content = 'x'")
            try db.execute(sql: "UPDATE todo SET content = 'Tickets'")
        }
        #expect(try await store.pendingCount() == 0)
    }

    @Test func `W3 a sent but unanswered column stays marked, even after a relaunch`() async throws {
        let todo = try await confirmedTodo()
        try await store.write { try $0.execute(sql: "UPDATE todo SET content = 'sent'") }
        _ = try #require(try await store.nextPush(PushLimit()))
        try phone.reopen()
        try await store.write { try $0.execute(sql: "UPDATE todo SET content = 'Tickets'") }
        #expect(try await store.dirtyColumns(todo) == ["content"])
    }

    @Test func `W3 L3 columns that an earlier launch left unsent stay marked until the server confirms the file`()
        async throws
    {
        let todo = try await confirmedTodo()
        try await store.write { try $0.execute(sql: "UPDATE todo SET content = 'x'") }
        try phone.reopen()
        try await store.write { try $0.execute(sql: "UPDATE todo SET content = 'Tickets', done = 1") }
        try await store.write { try $0.execute(sql: "UPDATE todo SET done = 0") }
        #expect(try await store.dirtyColumns(todo) == ["content", "done"])
        store.countUnderOwnID()
        try await store.write { try $0.execute(sql: "UPDATE todo SET content = 'x', done = 1") }
        try await store.write { try $0.execute(sql: "UPDATE todo SET content = 'Tickets', done = 0") }
        #expect(try await store.pendingCount() == 0)
    }

    @Test
    func `W3 an edit undone in the launch that made it is unmarked, even before the server confirms the file`()
        async throws
    {
        _ = try await confirmedTodo()
        try phone.reopen()
        try await store.write { try $0.execute(sql: "UPDATE todo SET done = 1") }
        try await store.write { try $0.execute(sql: "UPDATE todo SET done = 0") }
        #expect(try await store.pendingCount() == 0)
    }

    @Test func `W4 setting the clock back never produces earlier stamps, even after a relaunch`() async throws {
        let todo = Todo(content: "Tickets")
        try await store.write { try todo.insert($0) }
        let before = try #require(try await store.entry(todo)?.lifeStamp)
        phone.advance(-3_600_000)
        try phone.reopen()
        try await store.write { try $0.execute(sql: "UPDATE todo SET done = 1") }
        #expect(try #require(try await store.entry(todo)).unsentClock(of: "done").stamp > before)
    }

    @Test func `W4 twenty launches in two seconds keep their stamps within two seconds of the wall clock`()
        async throws
    {
        let todo = Todo(content: "Tickets")
        try await store.write { try todo.insert($0) }
        var last = try #require(try await store.entry(todo)?.lifeStamp)
        for edit in 1...20 {
            phone.advance(100)
            try phone.reopen()
            try await store.write { try $0.execute(sql: "UPDATE todo SET priority = ?", arguments: [edit]) }
            let stamp = try #require(try await store.entry(todo)).unsentClock(of: "priority").stamp
            #expect(stamp > last)
            #expect(stamp.milliseconds <= phone.time.value + 2_000)
            last = stamp
        }
    }

    @Test func `W4 stamps stay near the server's time across launches of a device with a wrong clock`() async throws {
        // The device's clock is an hour ahead of the server's.
        let hour: Int64 = 3_600_000
        let server = phone.time.value - hour
        try await store.correctClock(
            by: Date(timeIntervalSince1970: Double(server) / 1000), roundTrip: .milliseconds(2))
        for _ in 1...3 {
            try phone.reopen()
            let todo = Todo(content: "Tickets")
            try await store.write { try todo.insert($0) }
            let stamp = try #require(try await store.entry(todo)?.lifeStamp)
            #expect(stamp.milliseconds <= server + 2_000)
        }
    }

    @Test func `W1 a writer that is not a store gets an error that names Optimist's store`() throws {
        let plain = try DatabaseQueue(path: phone.file.path)
        let error = #expect(throws: DatabaseError.self) {
            try plain.write { try $0.execute(sql: "INSERT INTO todo(id) VALUES (randomblob(16))") }
        }
        #expect(error?.message == "no such function: write_through_Optimist_Store")
        try plain.close()
    }

    @Test func `L1 triggers of an older version are recreated, and the columns they marked stay marked`() async throws {
        let todo = try await confirmedTodo()
        try await store.write { try $0.execute(sql: "UPDATE todo SET content = 'Edited'") }
        try await store.pool.write { db in
            for (name, sql) in try EngineSchema.definitions(in: db) where sql.hasPrefix("CREATE TRIGGER") {
                try db.execute(sql: "DROP TRIGGER \(name)")
                try db.execute(
                    sql: sql.replacingOccurrences(of: CaptureTriggers.function, with: "optimist_stamp"))
            }
        }
        try phone.reopen()
        #expect(try await store.dirtyColumns(todo) == ["content"])
        try await store.write { try $0.execute(sql: "UPDATE todo SET done = 1") }
        #expect(try await store.dirtyColumns(todo) == ["content", "done"])
    }

    @Test func `W5 rows written before their table was synced are pending`() async throws {
        let file = phone.folder.appending(path: "old.sqlite")
        try writePlainly(to: file)
        let store = try Store(at: file, synced: [Todo.self], migrate: Todo.migrate)
        #expect(try await store.pendingCount() == 1)
    }

    private func writePlainly(to file: URL) throws {
        let plain = try DatabaseQueue(path: file.path)
        var migrator = DatabaseMigrator()
        Todo.migrate(&migrator)
        try migrator.migrate(plain)
        try plain.write { try Todo(content: "From before").insert($0) }
        try plain.close()
    }

    @Test func `L5 if a kept row's new life is deleted before it is sent, no entry remains`() async throws {
        let todo = Todo(content: "Tickets")
        try await store.write { try todo.insert($0) }
        try await store.pushAccepted(seq: 1)
        let layout = store.layouts[0]
        try await store.apply { db in
            var entries = try RowEntryTable(db)
            var entry = try #require(try entries.entry(RowRef(table: layout.number, id: todo.id.databaseValue)))
            entry.beginAnew(in: layout)
            try entries.save(entry)
        }
        try await store.write { try $0.execute(sql: "DELETE FROM todo") }
        #expect(try await store.read { try Int.fetchOne($0, sql: "SELECT count(*) FROM optimist_state") } == 0)
    }

    @Test func `W6 L5 the outbox grows with the rows, not the edits, and stores no values`() async throws {
        let todo = Todo(content: "secret 0")
        try await store.write { try todo.insert($0) }
        for edit in 1...TestForm.of(short: 100, full: 1000) {
            try await store.write {
                try $0.execute(sql: "UPDATE todo SET content = ?, done = 1 - done", arguments: ["secret \(edit)"])
            }
        }
        let (rows, row) = try await store.read { db in
            (
                try Int.fetchOne(db, sql: "SELECT count(*) FROM optimist_edit") ?? 0,
                try Row.fetchOne(db, sql: "SELECT * FROM optimist_edit").map(String.init(describing:)) ?? ""
            )
        }
        #expect(rows == 1)
        #expect(!row.contains("secret"))
        #expect(row.utf8.count < 600)
    }
}
