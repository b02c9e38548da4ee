// This source file is part of the Optimist open source project, under the MIT licence.

import Foundation
import GRDB
import Optimist
import OptimistWire
import Testing

@testable import Optimist

@Suite(.timeLimit(.minutes(5)))
struct OutboxTests {
    let phone: Phone
    var store: Store { phone.store }

    init() throws { phone = try Phone() }

    private func insert(_ content: String = "Tickets") async throws -> Todo {
        let todo = Todo(content: content)
        try await store.write { try todo.insert($0) }
        return todo
    }

    private func confirmed(_ content: String = "Tickets") async throws -> Todo {
        let todo = try await insert(content)
        try await store.pushAccepted(seq: 1)
        return todo
    }

    private func edit(_ sql: String) async throws { try await store.write { try $0.execute(sql: sql) } }

    private func next() async throws -> PushBatch { try #require(try await store.nextPush(PushLimit())) }

    private func patch(_ batch: PushBatch) throws -> RowPatch {
        switch try #require(batch.push.rows.first).change {
        case .create(let patch), .update(let patch): return patch
        case .delete: throw CancellationError()
        }
    }

    private func tombstone(_ batch: PushBatch) throws -> Tombstone {
        guard case .delete(let tombstone) = try #require(batch.push.rows.first).change else {
            throw CancellationError()
        }
        return tombstone
    }

    // MARK: - S1

    @Test func `S1 a thousand offline edits of one row are one patch with the last value`() async throws {
        _ = try await confirmed()
        for edit in 1...1000 { try await self.edit("UPDATE todo SET content = 'edit \(edit)'") }
        let batch = try await next()
        #expect(batch.push.rows.count == 1)
        #expect(try patch(batch).values == ["content": "edit 1000"])
    }

    @Test func `S1 an insert and a delete before the first send are nothing`() async throws {
        _ = try await insert()
        try await edit("DELETE FROM todo")
        #expect(try await store.nextPush(PushLimit()) == nil)
        #expect(try await store.pendingCount() == 0)
        #expect(try await store.read { try Int.fetchOne($0, sql: "SELECT count(*) FROM optimist_row") } == 0)
    }

    @Test func `S1 a row that was sent without an answer is deleted on the server too`() async throws {
        _ = try await insert()
        _ = try await next()
        try await edit("DELETE FROM todo")
        #expect(try tombstone(try await next()).generation == 2)
    }

    @Test func `S1 a delete and a new insert of one id are one replacement`() async throws {
        let todo = try await confirmed()
        try await edit("DELETE FROM todo")
        var again = todo
        again.content = "Again"
        let row = again
        try await store.write { try row.insert($0) }
        let batch = try await next()
        #expect(batch.push.rows.count == 1)
        guard case .create(let patch) = batch.push.rows[0].change else {
            Issue.record("no create")
            return
        }
        #expect(patch.generation == 3)
        #expect(patch.values["content"] == "Again")
    }

    @Test func `S1 a new life that ends before it was sent leaves the row as it was before`() async throws {
        let todo = try await confirmed()
        try await edit("DELETE FROM todo")
        try await store.write { db in
            try todo.insert(db)
            try db.execute(sql: "DELETE FROM todo")
        }
        let batch = try await next()
        #expect(try tombstone(batch).generation == 2, "another device may have begun the next life")
        try await store.book([.accepted(seq: 2)], of: batch)
        try await store.write { db in
            try todo.insert(db)
            try db.execute(sql: "DELETE FROM todo")
        }
        #expect(try await store.pendingCount() == 0)
        #expect(try await store.entry(todo)?.generation == 2)
    }

    @Test func `S1 S5 a new life that ended while it certainly was not sent leaves the row as it was before`()
        async throws
    {
        let todo = try await confirmed()
        try await edit("DELETE FROM todo")
        try await store.book([.accepted(seq: 2)], of: try await next())
        try await store.write { try todo.insert($0) }
        let create = try await next()
        try await edit("DELETE FROM todo")
        try await store.recall(create)
        #expect(try await store.pendingCount() == 0)
        #expect(try await store.entry(todo)?.generation == 2)
    }

    @Test func `S2 a row that is replaced before it was sent stays with those it was written with`() async throws {
        let (a, b) = (Todo(content: "a"), Todo(content: "b"))
        try await store.write { db in
            try a.insert(db)
            try b.insert(db)
        }
        try await store.write { try a.insert($0, onConflict: .replace) }
        let batch = try await next()
        #expect(batch.push.rows.count == 2)
        #expect(batch.push.groups == [0..<2])
    }

    @Test func `S1 an update names only what changed, with its clock`() async throws {
        _ = try await confirmed()
        phone.advance(5000)
        try await edit("UPDATE todo SET done = 1, priority = 0")
        let patch = try patch(try await next())
        #expect(patch.values == ["done": true])
        #expect(patch.clocks?["done"]?.stamp.milliseconds == 1_790_000_005_000)
    }

    // MARK: - S4 and V

    @Test func `S4 an accepted verdict clears what was sent, and an edit made meanwhile stays`() async throws {
        let todo = try await confirmed()
        try await edit("UPDATE todo SET content = 'sent', done = 1")
        let batch = try await next()
        try await edit("UPDATE todo SET content = 'meanwhile'")
        try await store.book([.accepted(seq: 2)], of: batch)
        #expect(try await store.dirtyColumns(todo) == ["content"])
        #expect(try patch(try await next()).values == ["content": "meanwhile"])
    }

    @Test func `S4 W3 after the answer, going back to what was sent unmarks`() async throws {
        let todo = try await confirmed()
        try await edit("UPDATE todo SET content = 'sent'")
        let batch = try await next()
        try await edit("UPDATE todo SET content = 'meanwhile'")
        try await store.book([.accepted(seq: 2)], of: batch)
        try await edit("UPDATE todo SET content = 'sent'")
        #expect(try await store.dirtyColumns(todo).isEmpty)
    }

    @Test func `S4 a row that was deleted while its insert was in flight is deleted on the server`() async throws {
        _ = try await insert()
        let create = try await next()
        try await edit("DELETE FROM todo")
        try await store.book([.accepted(seq: 1)], of: create)
        #expect(try tombstone(try await next()).generation == 2)
    }

    @Test func `S4 a row that was deleted and made again while its edit was in flight is sent as a new life`()
        async throws
    {
        let todo = try await confirmed()
        try await edit("UPDATE todo SET content = 'edit'")
        let update = try await next()
        try await store.write { db in
            try db.execute(sql: "DELETE FROM todo")
            try todo.insert(db)
        }
        try await store.book([.accepted(seq: 2)], of: update)
        let again = try await next()
        guard case .create(let patch) = again.push.rows[0].change else {
            Issue.record("no create")
            return
        }
        #expect(patch.generation == 3)
        #expect(patch.values["content"] == "Tickets")
    }

    @Test func `V4 of a new life that is refused, the delete of the former one stays to be sent`() async throws {
        let todo = try await confirmed()
        try await store.write { db in
            try db.execute(sql: "DELETE FROM todo")
            try todo.insert(db)
        }
        try await store.book([.rejected(Refusal(code: "forbidden", message: "no"))], of: try await next())
        #expect(try await store.pendingCount() == 1)
        #expect(try tombstone(try await next()).generation == 2)
    }

    @Test func `S1 V5 a new life that the server did not take and that ended since leaves no trace`() async throws {
        let todo = try await confirmed()
        try await edit("DELETE FROM todo")
        try await store.book([.accepted(seq: 2)], of: try await next())
        try await store.write { try todo.insert($0) }
        let create = try await next()
        try await edit("DELETE FROM todo")
        #expect(try await store.pendingCount() == 1, "it may have arrived")
        try await store.book([.groupFailed(by: ["todo:other"], current: nil)], of: create)
        #expect(try await store.pendingCount() == 0)
        #expect(try await store.entry(todo)?.generation == 2)
    }

    @Test func `S3 a repeated push after a lost answer carries the newest values`() async throws {
        _ = try await confirmed()
        try await edit("UPDATE todo SET content = 'one'")
        let lost = try await next()
        try await edit("UPDATE todo SET content = 'two'")
        let again = try await next()
        #expect(again.push.number == lost.push.number + 1)
        #expect(try patch(again).values == ["content": "two"])
    }

    @Test func `S3 a create whose answer was lost clears a column with an explicit null`() async throws {
        let todo = Todo(content: "Tickets", alarm: Date(timeIntervalSince1970: 1_790_000_000))
        try await store.write { try todo.insert($0) }
        _ = try await next()
        phone.advance(1)
        try await edit("UPDATE todo SET alarm = NULL")
        #expect(try patch(try await next()).values["alarm"] == .null)
    }

    @Test func `V a merged verdict takes the server's value and keeps mine in the journal`() async throws {
        let todo = try await confirmed()
        try await edit("UPDATE todo SET content = 'mine', done = 1")
        let batch = try await next()
        let theirs = Clock(stamp: Stamp(milliseconds: 1_790_000_009_000), device: "Other")
        try await store.book(
            [
                .merged(
                    seq: 2, RowPatch(generation: 1, clocks: ColumnClocks(common: theirs), values: ["content": "theirs"])
                )
            ],
            of: batch)
        let now = try #require(try await store.todos().first)
        #expect(now.content == "theirs")
        #expect(now.done)
        #expect(try await store.pendingCount() == 0)
        #expect(try await store.entry(todo)?.confirmed["content"] == theirs)
        #expect(
            try await store.read { try String.fetchOne($0, sql: "SELECT mine FROM optimist_journal") }
                == #"{"content":"mine"}"#)
    }

    @Test func `V2 a rejected edit comes back as one emission, and mine is in the rejections`() async throws {
        let todo = try await confirmed()
        try await edit("UPDATE todo SET content = 'far too long', done = 1")
        let batch = try await next()
        var emissions = store.observe { try Todo.fetchAll($0) }.makeAsyncIterator()
        #expect(await emissions.next()?.first?.content == "far too long")
        try await store.book(
            [.rejected(Refusal(code: "invalidProperties", column: "content", message: "too long"))], of: batch)
        let restored = await emissions.next()
        #expect(restored == [todo])
        let rejection = try #require(try await store.rejections().first)
        #expect(rejection.mine == ["content": "far too long", "done": true])
        #expect(rejection.column == "content")
        #expect(try await store.pendingCount() == 0)

        try await store.retry(rejection.id, with: ["content": "short"])
        #expect(try await store.rejections().isEmpty)
        #expect(try patch(try await next()).values == ["content": "short", "done": true])
    }

    @Test func `V2 a rejected create goes, and can be tried again`() async throws {
        let todo = try await insert("far too long")
        try await store.book(
            [.rejected(Refusal(code: "invalidProperties", column: "content", message: "too long"))],
            of: try await next())
        #expect(try await store.todos().isEmpty)
        #expect(try await store.pendingCount() == 0)
        let rejection = try #require(try await store.rejections().first)
        #expect(rejection.kind == .create)
        try await store.retry(rejection.id, with: ["content": "short"])
        let again = try #require(try await store.todos().first)
        #expect(again.id == todo.id)
        #expect(again.content == "short")
        #expect(try await store.pendingCount() == 1)
    }

    @Test func `V2 a rejected delete brings the row back`() async throws {
        let todo = try await confirmed()
        try await edit("DELETE FROM todo")
        let current = RowPatch(
            generation: 1, clocks: ColumnClocks(common: Clock(stamp: Stamp(milliseconds: 5), device: "S")),
            values: ["content": "Tickets", "date": .string(todo.date), "priority": 0, "done": false])
        try await store.book(
            [.rejected(Refusal(code: "forbidden", message: "no", current: current))], of: try await next())
        #expect(try await store.todos() == [todo])
        #expect(try await store.pendingCount() == 0)
        try await store.retry(try #require(try await store.rejections().first).id)
        guard case .delete = try await next().push.rows[0].change else {
            Issue.record("no delete")
            return
        }
    }

    @Test func `V3 of two edits of which the first is rejected the second stays right`() async throws {
        let todo = try await confirmed()
        try await edit("UPDATE todo SET content = 'too long', done = 1")
        let first = try await next()
        try await edit("UPDATE todo SET content = 'fine'")
        try await store.book(
            [.rejected(Refusal(code: "invalidProperties", column: "content", message: "too long"))], of: first)
        #expect(try await store.todos().first?.content == "fine")
        #expect(try await store.dirtyColumns(todo) == ["content"])
        #expect(try await store.rejections().first?.mine == ["done": true])
        try await store.pushAccepted(seq: 3)
        #expect(try await store.todos().first?.content == "fine")
        #expect(try await store.pendingCount() == 0)
    }

    @Test func `V3 a create that was rejected after it was mended is sent again`() async throws {
        _ = try await insert("too long")
        let first = try await next()
        phone.advance(1)
        try await edit("UPDATE todo SET content = 'fine'")
        try await store.book(
            [.rejected(Refusal(code: "invalidProperties", column: "content", message: "too long"))], of: first)
        #expect(try await store.rejections().isEmpty)
        #expect(try patch(try await next()).values["content"] == "fine")
    }

    @Test func `V1 a retry keeps everything pending and lets others pass`() async throws {
        _ = try await insert("first")
        _ = try await insert("second")
        let batch = try await next()
        try await store.book([.retry(after: .seconds(10)), .accepted(seq: 1)], of: batch)
        #expect(try await store.pendingCount() == 1)
        #expect(try await store.nextPush(PushLimit()) == nil)
        phone.advance(10_000)
        #expect(try await store.nextPush(PushLimit())?.push.rows.count == 1)
    }

    @Test func `V1 a row that is edited while it waits is sent without waiting`() async throws {
        _ = try await insert("first")
        try await store.book([.retry(after: .seconds(1000))], of: try await next())
        try await edit("UPDATE todo SET content = 'second'")
        #expect(try await store.nextPush(PushLimit()) != nil)
    }

    @Test func `V4 a verdict that cannot be booked changes nothing`() async throws {
        let todo = try await confirmed()
        try await edit("UPDATE todo SET content = 'mine'")
        let batch = try await next()
        try phone.fillDisk()
        let refusal = Verdict.rejected(Refusal(code: "forbidden", message: String(repeating: "no ", count: 100_000)))
        await #expect(throws: DatabaseError.self) { try await store.book([refusal], of: batch) }
        #expect(try await store.dirtyColumns(todo) == ["content"])
        #expect(try await store.rejections().isEmpty)
    }

    @Test func `S8 a refusal that the app's constraints stand against holds up nobody else`() async throws {
        let first = try await confirmed("first")
        try await store.write { try $0.execute(sql: "CREATE UNIQUE INDEX one ON todo(content)") }
        try await edit("UPDATE todo SET content = 'moved'")
        _ = try await insert("first")
        let batch = try await next()
        try await store.book(
            [.rejected(Refusal(code: "forbidden", message: "no")), .accepted(seq: 2)], of: batch)
        #expect(try await store.rejections().first?.mine == ["content": "moved"])
        #expect(try await store.entry(first)?.isPending == false)
        #expect(try await store.counts().parked == 1)
        #expect(try await store.nextPush(PushLimit()) == nil)
    }

    @Test func `S3 answers to a push that another one has overtaken are left`() async throws {
        let todo = try await confirmed()
        try await edit("UPDATE todo SET content = 'one'")
        let old = try await next()
        try await edit("UPDATE todo SET content = 'two'")
        _ = try await next()
        try await store.book([.accepted(seq: 2)], of: old)
        try await store.recall(old)
        #expect(try await store.dirtyColumns(todo) == ["content"])
        try await edit("UPDATE todo SET content = 'Tickets'")
        #expect(try await store.dirtyColumns(todo) == ["content"], "what was sent is still unanswered")
    }

    // MARK: - Limits and states

    @Test func `a push holds at most so many bytes, and the rest comes after`() async throws {
        for index in 0..<10 { _ = try await insert(String(repeating: "x", count: 1000) + "\(index)") }
        let batch = try #require(try await store.nextPush(PushLimit(rows: 100, bytes: 3500)))
        #expect((2...3).contains(batch.push.rows.count))
    }

    @Test func `Q2 the state of a row can be joined in SQL`() async throws {
        let todo = try await insert()
        func state() async throws -> String? {
            try await store.read { db in
                try String.fetchOne(
                    db,
                    sql: """
                        SELECT s.state FROM todo LEFT JOIN optimist_state_todo s ON s.id = todo.id WHERE todo.id = ?
                        """, arguments: [todo.id])
            }
        }
        #expect(try await state() == "pending")
        let batch = try await next()
        #expect(try await state() == "inFlight")
        try await store.book([.blocked(by: "list:1")], of: batch)
        #expect(try await state() == "blocked")
        phone.advance(60_000)
        try await store.pushAccepted(seq: 1)
        #expect(try await state() == "synced")
    }

    @Test func `what is to be sent is found by the index of what is pending, in its order`() async throws {
        let sql = SendableUnits.scanSQL(of: store.layouts)
        let plan = try await store.read { db in
            try Row.fetchAll(db, sql: "EXPLAIN QUERY PLAN \(sql)", arguments: [0]).map { $0["detail"] as String }
        }
        #expect(plan.count == 1 && plan[0].contains("optimist_pending"), "\(plan)")
    }

    @Test func `Q2 joining the state looks rows up, and walks no table of the engine`() async throws {
        let plan = try await store.read { db in
            try Row.fetchAll(
                db, sql: "EXPLAIN QUERY PLAN SELECT * FROM todo LEFT JOIN optimist_state_todo s ON s.id = todo.id"
            ).map { $0["detail"] as String }
        }
        #expect(plan.contains { $0.hasPrefix("SEARCH r USING INDEX") })
        #expect(!plan.contains { $0.hasPrefix("SCAN r") || $0.hasPrefix("MATERIALIZE") })
    }

    @Test func `Q2 the state of a row can be observed`() async throws {
        _ = try await insert()
        var states = store.observe { try String.fetchAll($0, sql: "SELECT state FROM optimist_state") }
            .makeAsyncIterator()
        #expect(await states.next() == ["pending"])
        let batch = try await next()
        #expect(await states.next() == ["inFlight"])
        try await store.book([.accepted(seq: 1)], of: batch)
        #expect(await states.next() == ["synced"])
    }

    @Test func `Q4 a receipt is settled by a push that was assembled after the write, also after a relaunch`()
        async throws
    {
        let todo = try await confirmed()
        try await edit("UPDATE todo SET content = 'before'")
        let inFlight = try await next()
        let commit = try await store.commit { try $0.execute(sql: "UPDATE todo SET content = 'mine'") }
        try phone.reopen()
        let data = try JSONEncoder().encode(commit.receipt)
        let receipt = try JSONDecoder().decode(Receipt.self, from: data)
        let store = store
        async let rejections = store.confirmed(receipt)
        try await store.book([.accepted(seq: 2)], of: inFlight)
        #expect(try await store.entry(todo)?.settled == inFlight.push.number)
        #expect(try await !store.unsettled(store.refs(receipt)[...], since: receipt.push).isEmpty)
        try await store.pushAccepted(seq: 3)
        #expect(try await rejections.isEmpty)
    }

    @Test func `Q4 waiting can be cancelled`() async throws {
        let commit = try await store.commit { try Todo(content: "x").insert($0) }
        let store = store
        let waiting = Task { try await store.confirmed(commit.receipt) }
        waiting.cancel()
        await #expect(throws: CancellationError.self) { try await waiting.value }
    }

    @Test func `Q4 waiting for all that is pending does not wait for later writes`() async throws {
        _ = try await insert("first")
        let receipt = try await store.receiptForPending()
        let batch = try await next()
        _ = try await insert("later")
        try await store.book([.accepted(seq: 1)], of: batch)
        #expect(try await store.confirmed(receipt).isEmpty)
        #expect(try await store.pendingCount() == 1)
    }
}
