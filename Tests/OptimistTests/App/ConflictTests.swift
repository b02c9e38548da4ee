// This source file is part of the Optimist open source project, under the MIT licence.

import Foundation
import GRDB
import Optimist
import OptimistCore
import OptimistWire
import Testing

@testable import Optimist

@Suite(.timeLimit(.minutes(20)))
struct ConflictTests {
    let phone: Phone
    var store: Store { phone.store }
    let todo = Todo(content: "Tickets", priority: 1)

    init() async throws {
        phone = try Phone()
        let todo = todo
        try await phone.store.write { try todo.insert($0) }
        try await phone.store.pushAccepted(seq: 1)
    }

    private func edit(_ sql: String) async throws { try await store.write { try $0.execute(sql: sql) } }

    private func conflict() async throws -> Conflict {
        let conflicts = try await store.conflicts()
        #expect(conflicts.count == 1)
        return try #require(conflicts.first)
    }

    /// Pushes the edit. The answer says that another device's later edit won, with this content.
    private func lose(to content: String) async throws {
        let next = try await store.nextPush(PushLimit())
        let theirs = WriteClock(stamp: Stamp(milliseconds: 1_790_000_009_000), device: "Other")
        let won = RowPatch(
            generation: 1, clocks: ColumnClocks(common: theirs), values: ["content": .string(content)])
        try await store.apply([.merged(seq: 2, won)], of: try #require(next))
    }

    @Test func `M7 an overwritten edit records the user's value, the current value and the time`() async throws {
        try await edit("UPDATE todo SET content = 'mine', done = 1")
        try await lose(to: "theirs")
        let conflict = try await conflict()
        #expect(conflict.table == "todo" && conflict.rowID == todo.wireID)
        #expect(conflict.reason == .overwritten)
        #expect(conflict.mine == ["content": "mine"])
        #expect(conflict.theirs == ["content": "theirs"])
        #expect(conflict.date == Date(timeIntervalSince1970: 1_790_000_000))
    }

    @Test func `M7 restoring an overwritten edit writes it again and removes the conflict`() async throws {
        try await edit("UPDATE todo SET content = 'mine'")
        try await lose(to: "theirs")
        try await store.restore(try await conflict())
        #expect(try await store.todos().first?.content == "mine")
        #expect(try await store.dirtyColumns(todo) == ["content"])
        #expect(try await store.conflicts().isEmpty)
    }

    @Test func `M7 R2 an edited row that was deleted can be restored with all its values`() async throws {
        try await edit("UPDATE todo SET content = 'mine'")
        try await store.receive([tombstone(todo, seq: 2)], from: "e1.0", to: "e1.2")
        #expect(try await store.todos().isEmpty)
        let conflict = try await conflict()
        #expect(conflict.reason == .deleted)
        #expect(conflict.mine == ["content": "mine"])
        #expect(conflict.theirs == nil)
        try await store.restore(conflict)
        var expected = todo
        expected.content = "mine"
        #expect(try await store.todos() == [expected])
        guard case .create(let patch) = try await store.nextPush(PushLimit())?.push.rows.first?.change else {
            Issue.record("no create")
            return
        }
        #expect(patch.generation == 3)
        #expect(patch.values["priority"] == 1)
    }

    @Test func `M7 restoring into a new life writes only the edited columns`() async throws {
        try await edit("UPDATE todo SET content = 'mine'")
        let anew: JSONObject = ["content": "anew", "date": "2027-01-01", "priority": 9, "done": false]
        try await store.receive([pageRow(todo, seq: 3, generation: 3, anew)], from: "e1.0", to: "e1.3")
        let conflict = try await conflict()
        #expect(conflict.theirs == ["content": "anew"])
        try await store.restore(conflict)
        #expect(try await store.todos().first?.content == "mine")
        #expect(try await store.todos().first?.priority == 9)
    }

    @Test func `M5 equal values are not a conflict, even in a new life`() async throws {
        try await edit("UPDATE todo SET content = 'same'")
        let anew: JSONObject = ["content": "same", "date": "2027-01-01", "priority": 9, "done": false]
        try await store.receive([pageRow(todo, seq: 3, generation: 3, anew)], from: "e1.0", to: "e1.3")
        #expect(try await store.conflicts().isEmpty)
    }

    @Test func `M7 conflicts can be forgotten and observed, and a forgotten conflict is unknown`() async throws {
        var counts = store.observe { try Conflict.fetchAll($0).count }.makeAsyncIterator()
        #expect(try await counts.next()?.get() == 0)
        try await edit("UPDATE todo SET content = 'mine'")
        try await lose(to: "theirs")
        #expect(try await counts.next()?.get() == 1)
        let conflict = try await conflict()
        try await store.forget(conflict)
        #expect(try await counts.next()?.get() == 0)
        await #expect { try await store.restore(conflict) } throws: { ($0 as? OptimistError)?.code == .unknownConflict }
        await #expect { try await store.forget(conflict) } throws: { ($0 as? OptimistError)?.code == .unknownConflict }
    }

    @Test func `M7 the journal keeps the last thousand conflicts`() async throws {
        try await store.apply { db in
            let ref = RowRef(table: 1, id: UUID().databaseValue)
            for number in 1...1_005 {
                try Journal(db).record(
                    ref, reason: .overwritten, mine: ["content": .string("\(number)")], at: Int64(number))
            }
        }
        let conflicts = try await store.conflicts()
        #expect(conflicts.count == 1_000)
        #expect(conflicts.first?.mine == ["content": "6"])
    }

    @Test func `M7 M3 a count that was lost with its row can be restored`() async throws {
        let phone = try Device([Photo.self], migrate: Photo.migrate)
        let server = AppServer()
        let photo = Photo(title: "Lake", likes: 4)
        try await phone.store.write { try photo.insert($0) }
        try await phone.sync(with: server)
        try await phone.execute("UPDATE photo SET likes = likes + 2")
        let id = photo.id.uuidString.lowercased()
        let deletion = Tombstone(
            generation: 2, clock: WriteClock(stamp: Stamp(milliseconds: 1_790_000_500_000), device: "Other"), seq: 9)
        let page = RemotePage(
            from: "m.1", cursor: "m.9", hasMore: false,
            rows: [RemotePage.Row(table: "photo", id: id, content: .deleted(deletion))])
        try await phone.apply(page)
        let conflicts = try await phone.store.conflicts()
        let conflict = try #require(conflicts.first)
        #expect(conflict.mine == ["likes": ["@add": 2]])
        try await phone.store.restore(conflict)
        #expect(try await phone.rows("photo")[id] == ["title": "Lake", "likes": 6, "views": 0])
    }
}
