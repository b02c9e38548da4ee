// This source file is part of the Optimist open source project, under the MIT licence.

import Foundation
import GRDB
import Optimist
@_spi(Internals) import OptimistTesting
import OptimistWire
import Testing

@testable import OptimistCore
@testable import OptimistUI

/// The client and the phases of the app's scenes.
@Suite(.timeLimit(.minutes(20)), .serialized)
@MainActor
struct ClientTests {
    private let server = InMemoryServer(schema: .planner)

    @Test func `U3 sync runs while a scene is active, wakes on return and stops in the background`() {
        var life = SceneLife()
        #expect(life.changed(to: .inactive) == [])
        #expect(life.changed(to: .active) == [.open, .run])
        #expect(life.changed(to: .active) == [])
        #expect(life.changed(to: .inactive) == [])
        #expect(life.changed(to: .active) == [.wake])
        #expect(life.changed(to: .inactive) == [])
        #expect(life.changed(to: .background) == [.stop])
        #expect(life.changed(to: .background) == [])
        #expect(life.changed(to: .inactive) == [])
        #expect(life.changed(to: .active) == [.open, .run])
    }

    @Test func `U3 rows are sent while a scene is active and in a background task`() async throws {
        let phone = try Phone(server)
        let client = client(on: phone)
        client.sceneChanged(to: .active)
        try await client.store.write { try Todo(content: "Tickets").insert($0) }
        await reached { server.rows("todo").count == 1 && client.sync.status.counts.pending == 0 }
        client.sceneChanged(to: .background)
        await client.settled()
        let status = try await client.components?.engine.statuses.current()
        #expect(status?.phase == .stopped)
        try await client.store.write { try Todo(content: "Bread").insert($0) }
        #expect(server.rows("todo").count == 1)
        #expect(try await client.syncInBackground().isComplete)
        #expect(server.rows("todo").count == 2)
        client.sceneChanged(to: .active)
        try await client.store.write { try Todo(content: "Milk").insert($0) }
        await reached { server.rows("todo").count == 3 }
        client.sceneChanged(to: .background)
        await client.settled()
    }

    @Test func `U3 a file shared with other processes is unlocked in the background and locked again on return`()
        async throws
    {
        let phone = try Phone(server)
        let client = client(on: phone, sharesFile: true)
        client.sceneChanged(to: .active)
        try await client.store.write { try Todo(content: "Tickets").insert($0) }
        client.sceneChanged(to: .background)
        await client.settled()
        await #expect(throws: DatabaseError.self) {
            try await client.store.write { try Todo(content: "Bread").insert($0) }
        }
        #expect(try await client.store.read { try Todo.fetchCount($0) } == 1, "reads still work")
        #expect(try await client.syncInBackground().isComplete)
        await #expect(throws: DatabaseError.self) {
            try await client.store.write { try Todo(content: "Bread").insert($0) }
        }
        client.sceneChanged(to: .active)
        try await client.store.write { try Todo(content: "Bread").insert($0) }
        client.sceneChanged(to: .background)
        await client.settled()
        NotificationCenter.default.post(name: Database.resumeNotification, object: nil)
    }

    @Test func `G3 the store of a client made with a name checks rows at the write`() async throws {
        let phone = try Phone(server)
        let checks = RowValidation(["todo": { $0["content"] == "" ? RowFault("empty", "A to-do has words.") : nil }])
        let store = try OptimistClient.store(
            "checked", at: phone.folder, synced: [Todo.self], rowValidation: checks, migrate: Todo.migrate)
        let error = await #expect(throws: OptimistError.self) {
            try await store.write { try Todo(content: "").insert($0) }
        }
        #expect(error?.code == .ruleBroken)
        try await store.write { try Todo(content: "Tickets").insert($0) }
    }

    @Test func `U4 a store that does not open reports why, and opens when a scene becomes active`() async throws {
        let phone = try Phone(server)
        let isFull = Mutex(true)
        let client = OptimistClient {
            if isFull.withLock({ $0 }) { throw DatabaseError(resultCode: .SQLITE_FULL) }
            let store = try phone.open()
            return OptimistClient.Components(store: store, engine: phone.engine(of: store))
        }
        #expect(client.failure is DatabaseError)
        await #expect(throws: DatabaseError.self) { try await client.store.read { _ in } }
        await #expect(throws: DatabaseError.self) { try await client.syncInBackground() }
        #expect(client.sync.status.phase == .stopped)
        client.sceneChanged(to: .active)
        #expect(client.failure != nil)
        client.sceneChanged(to: .inactive)
        isFull.withLock { $0 = false }
        client.sceneChanged(to: .active)
        #expect(client.failure == nil)
        try await client.store.write { try Todo(content: "Tickets").insert($0) }
        await reached { server.rows("todo").count == 1 }
        client.sceneChanged(to: .background)
        await client.settled()
        await #expect(throws: OptimistError.self) { try await StoreAccess.missing.read { _ in } }
    }

    private func client(on phone: Phone, sharesFile: Bool = false) -> OptimistClient {
        OptimistClient(sharesFile: sharesFile) {
            let store = try phone.open()
            return OptimistClient.Components(store: store, engine: phone.engine(of: store))
        }
    }
}
