// This source file is part of the Optimist open source project, under the MIT licence.

import Foundation
import GRDB
@_spi(Internals) import OptimistTesting
import OptimistWire
import Testing

@testable import Optimist
@testable import OptimistCore

@Suite(.timeLimit(.minutes(20)))
struct AccountTests {
    private let server = InMemoryServer(schema: .planner)

    private func syncedPhone(_ contents: String...) async throws -> SyncedPhone {
        let phone = try SyncedPhone(server)
        phone.start()
        for content in contents { try await phone.store.write { try Todo(content: content).insert($0) } }
        try await phone.untilClean()
        return phone
    }

    /// A phone with an edit, a new row and a deletion that it cannot send.
    private func offlinePhone() async throws -> SyncedPhone {
        let phone = try await syncedPhone("edited", "deleted", "untouched")
        phone.remote.isOnline = false
        try await phone.store.write { db in
            try db.execute(sql: "UPDATE todo SET content = 'edited, mine', priority = 3 WHERE content = 'edited'")
            try db.execute(sql: "DELETE FROM todo WHERE content = 'deleted'")
            try Todo(content: "new").insert(db)
        }
        return phone
    }

    /// Starts again with a network, after the wait that an earlier attempt left.
    private func startOnline(_ phone: SyncedPhone) async {
        phone.remote.isOnline = true
        phone.start()
        await phone.clock.sleepers(atLeast: 1)
        phone.clock.advance(by: .seconds(60))
    }

    @Test func `L2 signing out reports the pending changes and keeps them by default`() async throws {
        let phone = try await offlinePhone()
        let engine = SyncEngine(store: phone.store, remote: phone.remote, reachability: phone.reachability)
        let asked = Mutex<[Int]>([])
        let left = try await engine.signOut { pending in
            asked.withLock { $0.append(pending) }
            return .keep
        }
        #expect(left == 3)
        #expect(asked.withLock { $0 } == [3])
        #expect(try await engine.signOut() == 3)
        await phone.stop()
        await startOnline(phone)
        try await phone.untilClean()
        #expect(
            server.rows("todo").values.compactMap { $0["content"]?.string }.sorted() == [
                "edited, mine", "new", "untouched",
            ])
        await phone.stop()
    }

    @Test func `L2 signing out without pending changes asks nothing`() async throws {
        let phone = try await syncedPhone("a")
        let engine = SyncEngine(store: phone.store, remote: phone.remote, reachability: phone.reachability)
        let left = try await engine.signOut { _ in
            Issue.record("there was nothing to ask")
            return .discard
        }
        #expect(left == 0)
        await phone.stop()
    }

    /// Signs out on a phone with an unsent to-do, and advances the clock until the sign-out ends.
    ///
    /// - Returns: The number of rows still pending.
    private func signOut(
        of phone: SyncedPhone, _ decide: @escaping @Sendable (Int) -> PendingChanges
    ) async throws -> Int {
        try await phone.store.write { try Todo(content: "a").insert($0) }
        phone.remote.isOnline = false
        let engine = phone.start()
        while !engine.isRunning { await Task.yield() }
        let signingOut = Task { try await engine.signOut(decide) }
        let passing = Task { await phone.clock.pass(.seconds(1), for: engine) { false } }
        let left = await signingOut.result
        passing.cancel()
        await passing.value
        await phone.stop()
        return try left.get()
    }

    @Test func `L2 signing out waits until its timeout, and asks again about the remaining changes`() async throws {
        let phone = try SyncedPhone(server)
        let asked = Mutex<[Int]>([])
        let left = try await signOut(of: phone) { pending in
            let count = asked.withLock { asked in
                asked.append(pending)
                return asked.count
            }
            phone.remote.isOnline = count == 2
            return .wait(timeout: count == 2 ? .seconds(3600) : .seconds(5))
        }
        #expect(left == 0)
        #expect(asked.withLock { $0 } == [1, 1])
        #expect(server.rows("todo").count == 1)
    }

    @Test func `L2 signing out waits at most twice, and then keeps the remaining changes`() async throws {
        let phone = try SyncedPhone(server)
        let asked = Mutex(0)
        let left = try await signOut(of: phone) { _ in
            asked.withLock { $0 += 1 }
            return .wait(timeout: .seconds(5))
        }
        #expect(left == 1)
        #expect(asked.withLock { $0 } == 2)
    }

    @Test func `L2 waiting at sign-out throws if no engine is running`() async throws {
        let phone = try await offlinePhone()
        await phone.stop()
        let engine = SyncEngine(store: phone.store, remote: phone.remote, reachability: phone.reachability)
        let error = await #expect(throws: OptimistError.self) {
            try await engine.signOut { _ in .wait(timeout: .seconds(5)) }
        }
        #expect(error?.code == .syncStopped)
        #expect(try await phone.store.counts().pending == 3)
    }

    @Test func `L2 discarding at sign-out undoes unsent changes, and deleted rows return`() async throws {
        let phone = try await offlinePhone()
        await phone.stop()
        let engine = SyncEngine(store: phone.store, remote: phone.remote, reachability: phone.reachability)
        #expect(try await engine.signOut { _ in .discard } == 0)
        #expect(try await phone.store.todos().map(\.content) == ["edited", "untouched"])
        #expect(try await phone.store.todos().map(\.priority) == [0, 0])
        await startOnline(phone)
        try await phone.untilContents(["deleted", "edited", "untouched"])
        #expect(server.pushes.flatMap(\.rows).count == 3)
        await phone.stop()
    }

    @Test func `L2 discarding during a push ends with the server's outcome of that push`() async throws {
        let phone = try await syncedPhone("a")
        await phone.stop()
        try await phone.write("UPDATE todo SET content = 'b'")
        let batch = try #require(try await phone.store.nextPush(PushLimit()))
        let answer = try await phone.remote.push(batch.push)
        try await phone.store.discardPending()
        try await phone.store.apply(answer.verdicts, of: batch)
        #expect(try await phone.store.todos().map(\.content) == ["a"])
        phone.start()
        try await phone.untilContents(["b"])
        #expect(try await phone.store.counts().pending == 0)
        await phone.stop()
    }

    // MARK: - Files

    @Test func `L2 every account of every server has a separate file`() throws {
        let files = AccountFiles(at: URL(filePath: "/data"))
        let servers = try ["https://a.example", "https://a.example:8443", "https://b.example"].map {
            try #require(URL(string: $0))
        }
        let accounts = ["1", "a", "A", "_41", "ä", "a/../b", String(repeating: "x", count: 300), ""]
        let names = servers.flatMap { server in accounts.map { files.file(of: $0, on: server).path } }
        #expect(Set(names.map { $0.lowercased() }).count == names.count)
        #expect(names.allSatisfy { $0.hasPrefix("/data/") && $0.dropFirst(6).allSatisfy { $0 != "/" } })
        #expect(names.allSatisfy { $0.utf8.count < 250 })
        let upper = try #require(URL(string: "https://A.EXAMPLE/planner"))
        #expect(files.file(of: "1", on: upper) == files.file(of: "1", on: servers[0]))
    }

    @Test func `L2 rows written before the first sign-in are sent after it, or discarded`() async throws {
        let folder = FileManager.default.temporaryDirectory.appending(path: "optimist-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        let files = AccountFiles(at: folder)
        let address = try #require(URL(string: "https://planner.example"))
        func open(_ file: URL) throws -> Store {
            try Store(at: file, synced: [Todo.self], durability: .normal, migrate: Todo.migrate)
        }
        #expect(try !files.claim(for: "1", on: address))
        do {
            let store = try open(files.unclaimed)
            try await store.write { try Todo(content: "before").insert($0) }
            try await store.write { try Todo(content: "unwanted").insert($0) }
        }
        #expect(try files.claim(for: "1", on: address))
        #expect(!FileManager.default.fileExists(atPath: files.unclaimed.path))
        let store = try open(files.file(of: "1", on: address))
        #expect(try await store.counts().pending == 2)
        let running = Task { [server] in
            await SyncEngine(store: store, remote: InMemoryRemote(server), reachability: ManualReachability()).run()
        }
        let changes = store.changes.stream()
        try await changes.reach { _ in try await store.counts().pending == 0 }
        running.cancel()
        await running.value
        #expect(server.rows("todo").count == 2)

        let again = try open(files.unclaimed)
        try await again.write { try Todo(content: "unwanted").insert($0) }
        #expect(try await again.discardPending() == 1)
        #expect(try await again.todos().isEmpty)
        #expect(try !files.claim(for: "1", on: address), "the account has a file")
        try again.pool.close()
        try files.removeUnclaimed()
        #expect(!FileManager.default.fileExists(atPath: files.unclaimed.path))
    }
}
