// This source file is part of the Optimist open source project, under the MIT licence.

import GRDB
import Optimist
import OptimistCore
import OptimistTesting
import Testing

@testable import OptimistUI

/// What `@LiveQuery` shows.
@Suite(.timeLimit(.minutes(20)))
@MainActor
struct QueryTests {
    @Test func `U1 a query starts when its view appears and stops when it disappears`() {
        var life = QueryLife<Int>()
        #expect(life.update(1, isVisible: false) == .nothing)
        #expect(life.update(1, isVisible: true) == .start)
        #expect(life.update(1, isVisible: true) == .nothing)
        #expect(life.update(2, isVisible: true) == .start)
        #expect(life.update(2, isVisible: false) == .stop)
        #expect(life.update(3, isVisible: false) == .nothing)
        #expect(life.update(3, isVisible: true) == .start)
        #expect(life.update(nil, isVisible: true) == .stop, "the store is gone")
    }

    @Test func `U1 a model shows each committed state while its view is visible`() async throws {
        let phone = try Phone()
        let store = try phone.open()
        let model = LiveQueryModel<[Todo]>([])
        let request = LiveRequest<[Todo]> { Todo.order(Column("content")) }
        #expect(!model.isLoaded)
        model.show(request, in: store, isVisible: true)
        await reached { model.isLoaded }
        #expect(model.value.isEmpty, "the query has loaded no rows")
        try await store.write { try Todo(content: "Tickets").insert($0) }
        await reached { model.value.count == 1 }
        model.show(request, in: store, isVisible: false)
        try await store.write { try Todo(content: "Hidden").insert($0) }
        let other = LiveQueryModel<[Todo]>([])
        other.show(LiveRequest { Todo.order(Column("content")) }, in: store, isVisible: true)
        await reached { other.value.count == 2 }
        #expect(model.value.map(\.content) == ["Tickets"], "the former value stays")
        model.show(LiveRequest { Todo.order(Column("content")) }, in: store, isVisible: true)
        await reached { model.value.map(\.content) == ["Hidden", "Tickets"] }
    }

    @Test func `U1 a request with other arguments restarts the query, and an equal one does not`() async throws {
        let phone = try Phone()
        let store = try phone.open()
        try await store.write { db in
            for content in ["Bread", "Milk"] { try Todo(content: content).insert(db) }
        }
        let model = LiveQueryModel<[Todo]>([])
        func ask(for content: String) {
            model.show(LiveRequest { Todo.filter(Column("content") == content) }, in: store, isVisible: true)
        }
        ask(for: "Bread")
        await reached { model.value.map(\.content) == ["Bread"] }
        let runs = model.turn
        ask(for: "Bread")
        await model.compared()
        #expect(model.turn == runs)
        ask(for: "Milk")
        #expect(model.value.map(\.content) == ["Bread"], "the former value stays until the new query's first result")
        await reached { model.value.map(\.content) == ["Milk"] }
        #expect(model.turn == runs + 1)
        #expect(model.isLoaded)
    }

    @Test func `U1 a changed parameter restarts the query`() async throws {
        let phone = try Phone()
        let store = try phone.open()
        try await store.write { db in
            try Todo(content: "Bread").insert(db)
            try Todo(content: "Milk", done: true).insert(db)
        }
        let model = LiveQueryModel("")
        func ask(_ done: Bool) {
            let request = LiveRequest<String>(for: done) { db, done in
                try Todo.filter(Column("done") == done).fetchOne(db)?.content ?? ""
            }
            model.show(request, in: store, isVisible: true)
        }
        ask(false)
        await reached { model.value == "Bread" }
        ask(true)
        #expect(!model.isLoaded)
        await reached { model.value == "Milk" }
        #expect(model.isLoaded)
    }

    @Test func `U1 Q5 a model whose query fails keeps its value, reports the error, and recovers`()
        async throws
    {
        let phone = try Phone()
        let store = try phone.open()
        try await store.write { try Todo(content: "Bread").insert($0) }
        let model = LiveQueryModel<[Todo]>([])
        let request = LiveRequest<[Todo]>(for: 0) { db, _ in
            let todos = try Todo.fetchAll(db)
            if todos.contains(where: { $0.content == "?" }) { throw DatabaseError(resultCode: .SQLITE_MISMATCH) }
            return todos
        }
        model.show(request, in: store, isVisible: true)
        await reached { model.isLoaded }
        #expect(model.failure == nil)
        try await store.write { try Todo(content: "?").insert($0) }
        await reached { model.failure != nil }
        #expect(model.failure is DatabaseError)
        #expect(model.value.map(\.content) == ["Bread"])
        try await store.write { _ = try Todo.filter(Column("content") == "?").deleteAll($0) }
        await reached { model.failure == nil }
        #expect(model.value.map(\.content) == ["Bread"])
    }

    @Test func `U1 a request that cannot be prepared reports an error, and the next request runs`() async throws {
        let phone = try Phone()
        let store = try phone.open()
        try await store.write { try Todo(content: "Bread").insert($0) }
        let model = LiveQueryModel<[Todo]>([])
        func ask(_ column: String) {
            model.show(LiveRequest { Todo.filter(Column(column) == "Bread") }, in: store, isVisible: true)
        }
        ask("colour")
        await reached { model.failure != nil }
        #expect(!model.isLoaded)
        let runs = model.turn
        ask("size")
        await model.compared()
        #expect(model.turn == runs + 1, "the request is not mistaken for the previous one")
        ask("content")
        await reached { model.isLoaded }
        #expect(model.failure == nil && model.value.count == 1)
    }

    @Test func `U4 a live query reports that its store did not open, and runs once it is open`() async throws {
        let phone = try Phone()
        let model = LiveQueryModel<[Todo]>([])
        let request = LiveRequest<[Todo]> { Todo.all() }
        let failure = StoreAccess(failure: OptimistError(.noFolder, "There is no folder."))
        for _ in 0..<2 { model.show(request, in: failure, isVisible: true) }
        #expect((model.failure as? OptimistError)?.code == .noFolder)
        model.show(request, in: StoreAccess(try phone.open()), isVisible: true)
        await reached { model.isLoaded }
        #expect(model.failure == nil)
    }

    @Test func `U1 a model that follows another query ignores its earlier query`() async throws {
        let phone = try Phone()
        let store = try phone.open()
        let model = LiveQueryModel(-1)
        let first = Task { await model.follow(store) { try Todo.fetchCount($0) } }
        await reached { model.value == 0 }
        let second = Task { await model.follow(store) { try Todo.fetchCount($0) + 100 } }
        await reached { model.value == 100 }
        try await store.write { try Todo(content: "Tickets").insert($0) }
        await reached { model.value == 101 }
        await first.value
        second.cancel()
        await second.value
    }
}
