// This source file is part of the Optimist open source project, under the MIT licence.

import Foundation
import GRDB
import Optimist
import OptimistWire
import Testing

@testable import Optimist

extension OutboxTests {
    @Test func `S4 an accepted verdict clears the sent columns and keeps later edits`() async throws {
        let todo = try await confirmed()
        try await edit("UPDATE todo SET content = 'sent', done = 1")
        let batch = try await next()
        try await edit("UPDATE todo SET content = 'meanwhile'")
        try await store.apply([.accepted(seq: 2)], of: batch)
        #expect(try await store.dirtyColumns(todo) == ["content"])
        #expect(try patch(try await next()).values == ["content": "meanwhile"])
    }

    @Test func `S4 W3 writing the accepted value back unmarks the column`() async throws {
        let todo = try await confirmed()
        try await edit("UPDATE todo SET content = 'sent'")
        let batch = try await next()
        try await edit("UPDATE todo SET content = 'meanwhile'")
        try await store.apply([.accepted(seq: 2)], of: batch)
        try await edit("UPDATE todo SET content = 'sent'")
        #expect(try await store.dirtyColumns(todo).isEmpty)
    }

    @Test func `S1 V2 a refused new life is dropped, and the earlier life is received again`() async throws {
        let todo = try await confirmed()
        try await store.write { db in
            try db.execute(sql: "DELETE FROM todo")
            try todo.insert(db)
        }
        #expect(
            try await store.apply(
                [.rejected(RemotePush.Refusal(code: "forbidden", message: "no"))], of: try await next()),
            "pages are needed")
        #expect(try await store.pendingCount() == 0)
        #expect(try await store.entry(todo)?.generation == 1)
        #expect(try await store.tableProgress().map(\.awaitsSnapshot) == [true])
    }

    @Test func `S3 the push after a lost answer carries the newest values`() async throws {
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

    @Test func `V2 W7 a rejected edit is undone in one emission, and the rejection keeps the user's values`()
        async throws
    {
        let todo = try await confirmed()
        try await edit("UPDATE todo SET content = 'far too long', done = 1")
        let batch = try await next()
        var emissions = store.observe { try Todo.fetchAll($0) }.makeAsyncIterator()
        #expect(try await emissions.next()?.get().first?.content == "far too long")
        try await store.apply(
            [.rejected(RemotePush.Refusal(code: "invalidProperties", column: "content", message: "too long"))],
            of: batch)
        let restored = try await emissions.next()?.get()
        #expect(restored == [todo])
        let rejection = try #require(try await store.rejections().first)
        #expect(rejection.mine == ["content": "far too long", "done": true])
        #expect(rejection.column == "content")
        #expect(try await store.pendingCount() == 0)

        try await store.retry(rejection, with: ["content": "short"])
        #expect(try await store.rejections().isEmpty)
        #expect(try patch(try await next()).values == ["content": "short", "done": true])
    }

    @Test func `V3 rejecting the first of two edits leaves the second intact`() async throws {
        let todo = try await confirmed()
        try await edit("UPDATE todo SET content = 'too long', done = 1")
        let first = try await next()
        try await edit("UPDATE todo SET content = 'fine'")
        try await store.apply(
            [.rejected(RemotePush.Refusal(code: "invalidProperties", column: "content", message: "too long"))],
            of: first)
        #expect(try await store.todos().first?.content == "fine")
        #expect(try await store.dirtyColumns(todo) == ["content"])
        #expect(try await store.rejections().first?.mine == ["done": true])
        try await store.pushAccepted(seq: 3)
        #expect(try await store.todos().first?.content == "fine")
        #expect(try await store.pendingCount() == 0)
    }

    @Test func `V1 S8 a retry verdict keeps its row pending and lets other rows pass`() async throws {
        _ = try await insert("first")
        _ = try await insert("second")
        let batch = try await next()
        try await store.apply([.retry(after: .seconds(10)), .accepted(seq: 1)], of: batch)
        #expect(try await store.pendingCount() == 1)
        #expect(try await store.nextPush(PushLimit()) == nil)
        phone.advance(10_000)
        #expect(try await store.nextPush(PushLimit())?.push.rows.count == 1)
    }

    @Test(arguments: [Duration.seconds(3 * 86_400), .seconds(Int64.max)])
    func `V1 a row deferred for days is sent again after one day`(wait: Duration) async throws {
        _ = try await insert("first")
        try await store.apply([.retry(after: wait)], of: try await next())
        #expect(try await store.nextPush(PushLimit()) == nil)
        phone.advance(86_399_000)
        #expect(try await store.nextPush(PushLimit()) == nil)
        phone.advance(1_000)
        #expect(try await store.nextPush(PushLimit())?.push.rows.count == 1)
    }

    @Test func `V1 editing a deferred row sends it at once`() async throws {
        _ = try await insert("first")
        try await store.apply([.retry(after: .seconds(1000))], of: try await next())
        try await edit("UPDATE todo SET content = 'second'")
        #expect(try await store.nextPush(PushLimit()) != nil)
    }

    @Test func `V4 a verdict that cannot be stored changes nothing`() async throws {
        let todo = try await confirmed()
        try await edit("UPDATE todo SET content = 'mine'")
        let batch = try await next()
        try phone.fillDisk()
        let refusal = RemotePush.Verdict.rejected(
            RemotePush.Refusal(code: "forbidden", message: String(repeating: "no ", count: 100_000)))
        await #expect(throws: DatabaseError.self) { try await store.apply([refusal], of: batch) }
        #expect(try await store.dirtyColumns(todo) == ["content"])
        #expect(try await store.rejections().isEmpty)
    }

    @Test func `S8 a refusal that violates the app's constraints does not hold up other rows`() async throws {
        let first = try await confirmed("first")
        try await store.write { try $0.execute(sql: "CREATE UNIQUE INDEX one ON todo(content)") }
        try await edit("UPDATE todo SET content = 'moved'")
        _ = try await insert("first")
        let batch = try await next()
        try await store.apply(
            [.rejected(RemotePush.Refusal(code: "forbidden", message: "no")), .accepted(seq: 2)], of: batch)
        #expect(try await store.rejections().first?.mine == ["content": "moved"])
        #expect(try await store.entry(first)?.isPending == false)
        #expect(try await store.counts().parked == 1)
        #expect(try await store.nextPush(PushLimit()) == nil)
    }

    @Test func `S3 answers to an overtaken push are ignored`() async throws {
        let todo = try await confirmed()
        try await edit("UPDATE todo SET content = 'one'")
        let old = try await next()
        try await edit("UPDATE todo SET content = 'two'")
        _ = try await next()
        try await store.apply([.accepted(seq: 2)], of: old)
        try await store.recall(old)
        #expect(try await store.dirtyColumns(todo) == ["content"])
        try await edit("UPDATE todo SET content = 'Tickets'")
        #expect(try await store.dirtyColumns(todo) == ["content"], "the sent column is still unanswered")
    }
}
