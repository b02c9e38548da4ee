// This source file is part of the Optimist open source project, under the MIT licence.

import GRDB
import Optimist
import OptimistCore
@_spi(Internals) import OptimistTesting
import OptimistWire
import Testing

@testable import OptimistUI

/// The models of sync, rejections and conflicts.
@Suite(.timeLimit(.minutes(20)))
@MainActor
struct ModelTests {
    @Test func `U2 a refusal appears with its counts, and disappears when it is retried or discarded`() async throws {
        let server = InMemoryServer(
            schema: .planner,
            validate: { row in
                guard case .create(let patch) = row.change, case .string(let content)? = patch.values["content"] else {
                    return nil
                }
                return content.hasPrefix("Bad") ? .rejected(RemotePush.Refusal(code: "forbidden", message: "No.")) : nil
            })
        let phone = try Phone(server)
        let store = try phone.open()
        let engine = phone.engine(of: store)
        let sync = SyncStatusModel(engine, store: store)
        let rejections = try #require(sync.rejections)
        let following = Task { await sync.follow() }
        let running = Task { await engine.run() }
        try await store.write { db in
            try Todo(content: "Bad bread").insert(db)
            try Todo(content: "Bad milk").insert(db)
        }
        await reached { rejections.rejections.count == 2 && sync.status.counts.rejected == 2 }
        #expect(sync.summary.hasSuffix("2 refused"))
        let first = try #require(rejections.first(of: Todo.self))
        await rejections.retry(first, with: ["content": "Bread"])
        await reached { rejections.rejections.count == 1 && server.rows("todo").count == 1 }
        #expect(server.rows("todo").values.map { $0["content"] } == ["Bread"])
        let second = try #require(rejections.first(of: Todo.self))
        rejections.postpone(second)
        #expect(rejections.first(of: Todo.self) == nil)
        #expect(rejections.rejections == [second])
        await rejections.discard(second)
        #expect(rejections.failure == nil)
        await reached { rejections.rejections.isEmpty }
        await rejections.discard(second)
        #expect((rejections.failure as? OptimistError)?.code == .unknownRejection)
        for task in [running, following] {
            task.cancel()
            await task.value
        }
    }

    @Test func `U2 a lost edit appears in the model, and the user can restore it`() async throws {
        let server = InMemoryServer(schema: .planner)
        let (mine, theirs) = (try Phone(server), try Phone(server))
        let (store, other) = (try mine.open(), try theirs.open())
        let todo = Todo(content: "Tickets")
        try await store.write { try todo.insert($0) }
        #expect(try await mine.engine(of: store).syncOnce().isComplete)
        #expect(try await theirs.engine(of: other).syncOnce().isComplete)
        try await store.write { try $0.execute(sql: "UPDATE todo SET content = 'Mine'") }
        try await other.write { try $0.execute(sql: "DELETE FROM todo") }
        #expect(try await theirs.engine(of: other).syncOnce().isComplete)
        let model = ConflictsModel(store)
        let following = Task { await model.follow() }
        _ = try await mine.engine(of: store).syncOnce()
        await reached { model.conflicts.count == 1 }
        let conflict = try #require(model.conflicts.first)
        #expect(conflict.mine["content"] == "Mine")
        await model.restore(conflict)
        #expect(model.failure == nil)
        await reached { model.conflicts.isEmpty }
        #expect(try await store.read { try Todo.fetchAll($0).map(\.content) } == ["Mine"])
        await model.forget(conflict)
        #expect((model.failure as? OptimistError)?.code == .unknownConflict)
        following.cancel()
        await following.value
    }

    @Test func `U2 a badge shows the state of its row`() async throws {
        let phone = try Phone()
        let store = try phone.open()
        let todo = Todo(content: "Tickets")
        #expect(try await store.read { try RowState.fetch(todo, in: $0) } == nil)
        try await store.write { try todo.insert($0) }
        #expect(try await store.read { try RowState.fetch(todo, in: $0) } == .pending)
        _ = try await phone.engine(of: store).syncOnce()
        #expect(try await store.read { try RowState.fetch(todo, in: $0) } == .synced)
        #expect(RowState.allCases.filter { $0.symbol == nil } == [.synced])
    }

    @Test(arguments: [
        (SyncPreview.synced, "Up to date"), (.offline(pending: 3), "Offline, 3 pending"),
        (.rejected, "Up to date, 1 refused"), (.firstSync(0.4), "Receiving, 40 %"),
    ])
    func `U2 a preview shows its state and its rows`(preview: SyncPreview, summary: String) async throws {
        let client = OptimistClient.preview(preview, synced: Todo.self, migrate: Todo.migrate) { db in
            try Todo(content: "Tickets").insert(db)
        }
        #expect(client.failure == nil)
        #expect(client.sync.summary == summary)
        #expect(try await client.store.read { try Todo.fetchCount($0) } == 1)
        let following = Task { await client.sync.follow() }
        if preview.refusesFirst { await reached { client.sync.rejections?.first(of: Todo.self) != nil } }
        following.cancel()
        await following.value
        #expect(client.sync.summary == summary, "the preview's summary does not change")
    }
}
