// This source file is part of the Optimist open source project, under the MIT licence.

import Foundation
import GRDB
import OptimistCore
import OptimistWire
import Testing

@testable import Optimist

struct RejectedRecordTests {
    private let phone: Phone
    private var store: Store { phone.store }
    private let todo = Todo(content: "Tickets", priority: 1)

    init() async throws {
        phone = try Phone()
        let todo = todo
        try await phone.store.write { try todo.insert($0) }
    }

    private func refuse(current: RowPatch? = nil) async throws -> Rejection {
        let batch = try #require(try await store.nextPush(PushLimit()))
        let refusal = RemotePush.Refusal(code: "invalidProperties", message: "No.", current: current)
        try await store.apply(batch.push.rows.map { _ in .rejected(refusal) }, of: batch)
        return try #require(try await store.rejections().first)
    }

    @Test func `a refused insert reads as the inserted record, and can be retried with another record`() async throws {
        let rejection = try await refuse()
        var mine = try #require(try await rejection.mine(as: Todo.self, in: store))
        #expect(mine == todo)
        #expect(try await rejection.theirs(as: Todo.self, in: store) == nil)
        mine.content = "Visa"
        try await store.retry(rejection, with: mine)
        #expect(try await store.todos() == [mine])
        #expect(try await store.rejections().isEmpty)
    }

    @Test func `a refused update reads as the server's row with the user's edits, even if the refusal lacks that row`()
        async throws
    {
        try await store.pushAccepted(seq: 1)
        var edited = todo
        edited.content = "Too long"
        try await store.write { [edited] in try edited.update($0) }
        let rejection = try await refuse()
        #expect(try await rejection.mine(as: Todo.self, in: store) == edited)
        try await store.discard(rejection)
        try await store.write { [edited] in try edited.update($0) }
        let theirs = RowPatch(
            generation: 1, values: ["content": "Theirs", "priority": .int(5), "done": .bool(true)])
        let told = try await refuse(current: theirs)
        let (mine, server) = (
            try await told.mine(as: Todo.self, in: store), try await told.theirs(as: Todo.self, in: store)
        )
        #expect(mine?.content == "Too long" && mine?.priority == 5 && mine?.done == true)
        #expect(server?.content == "Theirs" && server?.priority == 5 && server?.id == todo.id)
    }

    @Test func `V2: a retry with a record writes the refused and the changed columns, and no stale ones`()
        async throws
    {
        try await store.pushAccepted(seq: 1)
        var edited = todo
        edited.content = "Too long"
        try await store.write { [edited] in try edited.update($0) }
        let current = RowPatch(
            generation: 1, values: ["content": "Theirs", "priority": .int(5), "done": .bool(false)])
        let rejection = try await refuse(current: current)
        var record = try #require(try await rejection.mine(as: Todo.self, in: store))
        // A newer value arrives while the user decides.
        try await store.write { try $0.execute(sql: "UPDATE todo SET priority = 9") }
        record.content = "Short"
        record.done = true
        try await store.retry(rejection, with: record)
        let todo = try #require(try await store.todos().first)
        #expect(todo.content == "Short" && todo.done && todo.priority == 9)
        #expect(try await store.dirtyColumns(todo) == ["content", "done", "priority"])
    }

    @Test func `V2: a refused deletion cannot be retried with a record, and stays`() async throws {
        try await store.pushAccepted(seq: 1)
        try await store.write { try $0.execute(sql: "DELETE FROM todo") }
        let rejection = try await refuse()
        await #expect { try await store.retry(rejection, with: todo) } throws: {
            ($0 as? OptimistError)?.code == .refusedDeletion
        }
        #expect(try await store.rejections() == [rejection])
    }

    @Test func `incomplete values are an error, even for a record decoded by hand`() async throws {
        struct Handmade: SyncedRecord {
            static let databaseTableName = "todo"
            var priority: Int
            init(row: Row) { priority = row["priority"] }
            func encode(to container: inout PersistenceContainer) { container["priority"] = priority }
        }
        try await store.pushAccepted(seq: 1)
        try await store.write { try $0.execute(sql: "UPDATE todo SET content = 'Too long'") }
        let rejection = try await refuse()
        #expect(try await rejection.mine(as: Handmade.self, in: store)?.priority == 1)
        try await store.write { try $0.execute(sql: "DELETE FROM todo") }
        await #expect { try await rejection.mine(as: Handmade.self, in: store) } throws: {
            guard let error = $0 as? OptimistError else { return false }
            return error.code == .invalidTable && error.message.contains("priority")
        }
    }

    @Test func `neither a refused deletion nor a row of another table reads as a record`() async throws {
        try await store.pushAccepted(seq: 1)
        try await store.write { try $0.execute(sql: "DELETE FROM todo") }
        let rejection = try await refuse()
        #expect(rejection.kind == .delete)
        #expect(try await rejection.mine(as: Todo.self, in: store) == nil)
        #expect(try await rejection.mine(as: Project.self, in: store) == nil)
    }

    @Test func `a retry with another row's record is refused, and the rejection stays`() async throws {
        let rejection = try await refuse()
        await #expect { try await store.retry(rejection, with: Todo(content: "Another")) } throws: {
            ($0 as? OptimistError)?.code == .invalidTable
        }
        await #expect { try await store.retry(rejection, with: Project(title: "Another")) } throws: {
            ($0 as? OptimistError)?.code == .invalidTable
        }
        #expect(try await store.rejections() == [rejection])
    }

    @Test func `a conflict reads as the row with the user's values and with the values that replaced them`()
        async throws
    {
        try await store.pushAccepted(seq: 1)
        try await store.write { try $0.execute(sql: "UPDATE todo SET content = 'Mine', priority = 7") }
        let batch = try #require(try await store.nextPush(PushLimit()))
        let later = WriteClock(stamp: Stamp(milliseconds: 1_790_000_009_000), device: "Other")
        let won = RowPatch(generation: 1, clocks: ColumnClocks(common: later), values: ["content": "Theirs"])
        try await store.apply([.merged(seq: 2, won)], of: batch)
        let conflict = try #require(try await store.conflicts().first)
        let (mine, theirs) = (
            try await conflict.mine(as: Todo.self, in: store), try await conflict.theirs(as: Todo.self, in: store)
        )
        #expect(mine?.content == "Mine" && mine?.priority == 7)
        #expect(theirs?.content == "Theirs" && theirs?.priority == 7)
        try await store.write { try $0.execute(sql: "DELETE FROM todo") }
        #expect(try await conflict.mine(as: Todo.self, in: store) == nil)
    }
}
