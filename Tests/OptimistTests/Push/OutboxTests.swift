// This source file is part of the Optimist open source project, under the MIT licence.

import Foundation
import GRDB
import Optimist
import OptimistWire
import Testing

@testable import Optimist
@testable import OptimistCore

@Suite(.timeLimit(.minutes(20)))
struct OutboxTests {
    let phone: Phone
    var store: Store { phone.store }

    init() throws { phone = try Phone() }

    func insert(_ content: String = "Tickets") async throws -> Todo {
        let todo = Todo(content: content)
        try await store.write { try todo.insert($0) }
        return todo
    }

    func confirmed(_ content: String = "Tickets") async throws -> Todo {
        let todo = try await insert(content)
        try await store.pushAccepted(seq: 1)
        return todo
    }

    func edit(_ sql: String) async throws { try await store.write { try $0.execute(sql: sql) } }

    func next() async throws -> PushBatch { try #require(try await store.nextPush(PushLimit())) }

    /// A deleted row that was inserted again, with the batch that carries its second life.
    func begunAnew() async throws -> (Todo, PushBatch) {
        let todo = try await confirmed()
        try await edit("DELETE FROM todo")
        try await store.apply([.accepted(seq: 2)], of: try await next())
        try await store.write { try todo.insert($0) }
        return (todo, try await next())
    }

    func patch(_ batch: PushBatch) throws -> RowPatch {
        let change = batch.push.rows.first?.change
        return try #require(change?.created ?? change?.updated)
    }

    func tombstone(_ batch: PushBatch) throws -> Tombstone {
        try #require(batch.push.rows.first?.change.deleted)
    }

    @Test func `a push reports the age of the oldest pending row`() async throws {
        _ = try await insert("old")
        phone.advance(90_500)
        _ = try await insert("new")
        #expect(try await next().push.oldestPendingSeconds == 90)
        // Setting the clock back does not produce a negative age.
        phone.advance(-200_000)
        #expect(try await next().push.oldestPendingSeconds == 0)
    }

    // MARK: - S1

    @Test func `S1 a thousand offline edits of one row are one patch with the last value`() async throws {
        _ = try await confirmed()
        for edit in 1...1000 {
            try await store.write { db in
                try db.cachedStatement(sql: "UPDATE todo SET content = ?").execute(arguments: ["edit \(edit)"])
            }
        }
        let batch = try await next()
        #expect(batch.push.rows.count == 1)
        #expect(try patch(batch).values == ["content": "edit 1000"])
    }

    @Test func `S1 a row deleted before its first push is never sent`() async throws {
        _ = try await insert()
        try await edit("DELETE FROM todo")
        #expect(try await store.nextPush(PushLimit()) == nil)
        #expect(try await store.pendingCount() == 0)
        #expect(try await store.read { try Int.fetchOne($0, sql: "SELECT count(*) FROM optimist_state") } == 0)
    }

    @Test func `S1 S5 deleting a new life that was certainly not sent leaves the row as before`()
        async throws
    {
        let (todo, create) = try await begunAnew()
        try await edit("DELETE FROM todo")
        try await store.recall(create)
        #expect(try await store.pendingCount() == 0)
        #expect(try await store.entry(todo)?.generation == 2)
    }

    @Test func `S2 a row replaced before it is sent stays in its original group`() async throws {
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

    @Test func `S1 an update contains only the changed columns, with their clocks`() async throws {
        _ = try await confirmed()
        phone.advance(5000)
        try await edit("UPDATE todo SET done = 1, priority = 0")
        let patch = try patch(try await next())
        #expect(patch.values == ["done": true])
        #expect(patch.clocks?["done"]?.stamp.milliseconds == 1_790_000_005_000)
    }

    // MARK: - Limits and states

    @Test func `a push stays within its byte limit`() async throws {
        for index in 0..<10 { _ = try await insert(String(repeating: "x", count: 1000) + "\(index)") }
        let batch = try #require(try await store.nextPush(PushLimit(rows: 100, bytes: 3500)))
        #expect((2...3).contains(batch.push.rows.count))
    }

    private func state(_ todo: Todo) async throws -> String? {
        try await store.read { db in
            try String.fetchOne(
                db,
                sql: """
                    SELECT s.state FROM todo LEFT JOIN optimist_state_todo s ON s.id = todo.id WHERE todo.id = ?
                    """, arguments: [todo.id])
        }
    }

    @Test func `Q2 SQL can join the state of a row`() async throws {
        let todo = try await insert()
        #expect(try await state(todo) == "pending")
        let batch = try await next()
        #expect(try await state(todo) == "inFlight")
        try await store.apply([.blocked(by: "list:1")], of: batch)
        #expect(try await state(todo) == "blocked")
        phone.advance(60_000)
        try await store.pushAccepted(seq: 1)
        #expect(try await state(todo) == "synced")
    }

    @Test func `Q2 an accepted row is echoed when a page reaches its transaction`() async throws {
        let todo = try await insert()
        func isEchoed() async throws -> Bool? {
            let store = store
            return try await store.read { db in
                try Bool.fetchOne(
                    db, sql: "SELECT isEchoed FROM optimist_state_todo WHERE id = ?", arguments: [todo.id])
            }
        }
        #expect(try await isEchoed() == nil, "the server has not answered")
        try await store.receive([], from: "e1.0", to: "e1.1")
        try await store.pushAccepted(seq: 12)
        #expect(try await state(todo) == "synced")
        #expect(try await isEchoed() == false)
        try await store.receive([], from: "e1.1", to: "e1.9.3")
        #expect(try await isEchoed() == false)
        try await store.receive([pageRow(todo, seq: 12, ["content": "Tickets"])], from: "e1.9.3", to: "e1.12")
        #expect(try await isEchoed() == true)
        try await store.note(RemoteGuarantees())
        #expect(try await isEchoed() == nil, "opaque cursors do not show it")
    }

    @Test func `Q2 a row is rejected until the app decides, and parked until it fits`() async throws {
        let todo = try await confirmed()
        try await edit("UPDATE todo SET content = 'Mine'")
        try await store.apply([.rejected(RemotePush.Refusal(code: "forbidden", message: "No."))], of: try await next())
        #expect(try await state(todo) == "rejected")
        try await store.discard(try #require(try await store.rejections().first))
        #expect(try await state(todo) == "synced")
        try await edit(
            "CREATE TRIGGER app BEFORE UPDATE ON todo WHEN NEW.content = 'Theirs' BEGIN SELECT json('{'); END")
        let theirs = pageRow(todo, seq: 2, stamp: 1_790_000_060_000, ["content": "Theirs"])
        try await store.receive([theirs], from: "e1.0", to: "e1.2")
        #expect(try await state(todo) == "parked")
        try await edit("DROP TRIGGER app")
        try await store.receive([], from: "e1.2", to: "e1.3")
        #expect(try await state(todo) == "synced")
        #expect(try await store.todos().map(\.content) == ["Theirs"])
    }

    @Test func `Q2 a row is pending while its received version waits for the answer to a push`() async throws {
        let (todo, batch) = try await begunAnew()
        try await store.receive([pageRow(todo, seq: 3, ["content": "Theirs"])], from: "e1.0", to: "e1.3")
        #expect(try await store.counts().parked == 1)
        #expect(try await state(todo) == "inFlight")
        try await store.apply([.retry(after: nil)], of: batch)
        #expect(try await state(todo) == "pending")
        #expect(
            try await store.read { try String.fetchAll($0, sql: "SELECT state FROM optimist_state") } == ["pending"])
    }

    private func scanPlan() async throws -> [String] {
        let layouts = store.layouts
        return try await store.read { db in
            let sql = SendableUnits.scanSQL(of: layouts, by: try SendingOrder(db).index)
            return try Row.fetchAll(db, sql: "EXPLAIN QUERY PLAN \(sql)", arguments: [0]).map { $0["detail"] as String }
        }
    }

    @Test func `the sending order has an index only while many rows are pending`() async throws {
        var ids: [String] = []
        for number in 0...SendingOrder.few {
            let todo = Todo(content: "\(number)")
            ids.append(todo.wireID)
            // One transaction each; the ids are in random order.
            try await store.write { try todo.insert($0) }
        }
        #expect(try await scanPlan().contains { $0.contains("ORDER BY") }, "a write creates no index")
        var sent: [String] = []
        for limit in [200, 1_000] {
            let batch = try #require(try await store.nextPush(PushLimit(rows: limit)))
            let plan = try await scanPlan()
            #expect(plan.count == 2 && plan[0].contains("optimist_edit_group"), "\(plan)")
            sent += batch.push.rows.map(\.id)
            try await store.apply(batch.sent.map { _ in .accepted(seq: 1) }, of: batch)
        }
        #expect(sent == ids)
        #expect(try await scanPlan().contains { $0.contains("ORDER BY") })
    }

    @Test func `Q2 a join with the state seeks rows by key and scans none of the engine's tables`() async throws {
        let plan = try await store.read { db in
            try Row.fetchAll(
                db, sql: "EXPLAIN QUERY PLAN SELECT * FROM todo LEFT JOIN optimist_state_todo s ON s.id = todo.id"
            ).map { $0["detail"] as String }
        }
        #expect(plan.contains { $0.hasPrefix("SEARCH r USING COVERING INDEX") }, "\(plan)")
        #expect(plan.contains { $0.hasPrefix("SEARCH e USING PRIMARY KEY (tbl=? AND id=?)") })
        #expect(plan.filter { $0.hasPrefix("SCAN") } == ["SCAN todo"])
        #expect(!plan.contains { $0.hasPrefix("MATERIALIZE") })
    }

    @Test func `Q2 the state of a row can be observed`() async throws {
        _ = try await insert()
        var states = store.observe { try String.fetchAll($0, sql: "SELECT state FROM optimist_state") }
            .makeAsyncIterator()
        #expect(try await states.next()?.get() == ["pending"])
        let batch = try await next()
        #expect(try await states.next()?.get() == ["inFlight"])
        try await store.apply([.accepted(seq: 1)], of: batch)
        #expect(try await states.next()?.get() == ["synced"])
    }

    @Test func `Q4 only a push assembled after the write settles its receipt, even after a relaunch`()
        async throws
    {
        let todo = try await confirmed()
        try await edit("UPDATE todo SET content = 'before'")
        let inFlight = try await next()
        let commit = try await store.writeWithReceipt { try $0.execute(sql: "UPDATE todo SET content = 'mine'") }
        try phone.reopen()
        let data = try JSONEncoder().encode(commit.receipt)
        let receipt = try JSONDecoder().decode(Receipt.self, from: data)
        let store = store
        async let rejections = store.rejections(awaiting: receipt)
        try await store.apply([.accepted(seq: 2)], of: inFlight)
        #expect(try await store.entry(todo)?.remote.lastAnsweredPush == inFlight.push.number)
        #expect(try await !store.unsettled(store.refs(receipt)[...], since: receipt.push).isEmpty)
        try await store.pushAccepted(seq: 3)
        #expect(try await rejections.isEmpty)
    }

    @Test(arguments: [true, false])
    func `Q4 if a refused write is edited again, the answer to its newest value settles it`(
        isNew: Bool
    ) async throws {
        if !isNew { _ = try await confirmed() }
        let commit = try await store.writeWithReceipt { db in
            if isNew { try Todo(content: "too long").insert(db) }
            try db.execute(sql: "UPDATE todo SET content = 'too long'")
        }
        let refusal = RemotePush.Verdict.rejected(
            RemotePush.Refusal(code: "invalidProperties", column: "content", message: "too long"))
        for edit in ["longer", "longest"] {
            let batch = try await next()
            phone.advance(1)
            try await self.edit("UPDATE todo SET content = '\(edit)'")
            try await store.apply([refusal], of: batch)
            #expect(try await store.rejections().isEmpty)
            #expect(try await store.unsettled(store.refs(commit.receipt)[...], since: commit.receipt.push).count == 1)
        }
        try await store.apply([refusal], of: try await next())
        #expect(try await store.rejections(awaiting: commit.receipt).map { $0.mine["content"] } == ["longest"])
    }

    @Test func `Q4 a refused column settles the receipt although another column was edited afterwards`()
        async throws
    {
        _ = try await confirmed()
        let commit = try await store.writeWithReceipt { db in
            try db.execute(sql: "UPDATE todo SET content = 'too long', priority = 1")
        }
        let batch = try await next()
        phone.advance(1)
        try await edit("UPDATE todo SET priority = 2")
        let refusal = RemotePush.Refusal(code: "invalidProperties", column: "content", message: "too long")
        try await store.apply([.rejected(refusal)], of: batch)
        #expect(try await store.rejections(awaiting: commit.receipt).map { $0.mine["content"] } == ["too long"])
        #expect(try await store.pendingCount() == 1)
    }

    @Test func `Q4 waiting for a receipt can be cancelled`() async throws {
        let commit = try await store.writeWithReceipt { try Todo(content: "x").insert($0) }
        let store = store
        let waiting = Task { try await store.rejections(awaiting: commit.receipt) }
        waiting.cancel()
        await #expect(throws: CancellationError.self) { try await waiting.value }
    }

    @Test func `Q4 waiting for the pending rows does not include later writes`() async throws {
        _ = try await insert("first")
        let receipt = try await store.pendingReceipt()
        let batch = try await next()
        _ = try await insert("later")
        try await store.apply([.accepted(seq: 1)], of: batch)
        #expect(try await store.rejections(awaiting: receipt).isEmpty)
        #expect(try await store.pendingCount() == 1)
    }
}
