// This source file is part of the Optimist open source project, under the MIT licence.

import ChildProcess
import Foundation
import GRDB
@_spi(Internals) import OptimistTesting
import OptimistWire
import Testing

@testable import Optimist
@testable import OptimistCore

/// Starts another process on the same file: see Tests/OtherProcess.
private func startOther(_ role: String, _ file: URL) throws -> ChildProcess {
    try ChildProcess(
        Bundle.module.bundleURL.deletingLastPathComponent().appending(path: "OtherProcess"), [role, file.path])
}

@Suite(.timeLimit(.minutes(20)))
struct ProcessesTests {
    private let server = InMemoryServer(schema: .planner)

    private func until(_ content: String, in store: Store) async throws {
        let todos = store.observe { try Todo.filter(Column("content") == content).fetchCount($0) }
        try await todos.reach { try $0.get() > 0 }
    }

    private func add(_ content: String, to phone: SyncedPhone) async throws {
        try await phone.store.write { try Todo(content: content).insert($0) }
    }

    @Test func `W2 W5 another process's writes show at once and are sent`() async throws {
        let phone = try SyncedPhone(server)
        phone.start()
        try await phone.until { try await $0.counts().lastSync != nil }
        let other = try startOther("write", phone.store.file)
        for number in 1...20 {
            try await until("other \(number - 1)", in: phone.store)
            try await add("mine \(number)", to: phone)
        }
        try await until("other 20", in: phone.store)
        other.kill()
        try await phone.untilClean()
        #expect(server.rows("todo").count == 41)
        await phone.stop()
    }

    @Test func `W5 one process syncs at a time, and the next one takes over when it is killed`() async throws {
        let phone = try SyncedPhone(server)
        let other = try startOther("sync", phone.store.file)
        try await until("other pushes", in: phone.store)
        let engine = phone.start()
        await phone.clock.sleepers(atLeast: 1)
        #expect(try await engine.statuses.current().phase == .paused(reason: .otherProcess))
        #expect(server.connects == 0)
        #expect(try await phone.store.pendingRows().contains(where: \.isInFlight))

        other.kill()
        phone.clock.advance(by: .seconds(2))
        try await phone.untilClean()
        #expect(server.rows("todo").count == 2)
        await phone.stop()
    }

    @Test func `W5 a stopped engine lets another one sync`() async throws {
        let first = try SyncedPhone(server)
        let second = try SyncedPhone(server, folder: first.folder)
        first.start()
        try await first.until { try await $0.counts().lastSync != nil }
        second.start()
        await second.clock.sleepers(atLeast: 1)
        try await second.store.write { try Todo(content: "Tickets").insert($0) }
        try await first.untilClean()
        #expect(server.pushes.count == 1)
        await first.stop()
        second.clock.advance(by: .seconds(2))
        try await second.store.write { try Todo(content: "More").insert($0) }
        try await second.untilClean()
        #expect(second.remote.attempts > 0)
        await second.stop()
    }

    @Test func `W4 two stores of one file never stamp backwards, whatever their wall clocks`() async throws {
        let phone = try Phone()
        let late = try Store(
            at: phone.file, synced: [Todo.self], durability: .normal,
            dependencies: Dependencies(now: { Date(timeIntervalSince1970: 1_780_000_000) }), migrate: Todo.migrate)
        let todo = Todo(content: "Tickets")
        try await phone.store.write { try todo.insert($0) }
        var last = Stamp.zero
        for number in 0..<40 {
            phone.advance(10)
            let store = number.isMultiple(of: 3) ? late : phone.store
            try await store.write { try $0.execute(sql: "UPDATE todo SET content = 'edit \(number)'") }
            let entry = try #require(try await store.entry(todo))
            let stamp = entry.unsentClock(of: "content").stamp
            #expect(stamp > last)
            last = stamp
        }
        #expect(last.milliseconds < phone.time.value + 2_000, "the stamps stay near the time of day")
    }
}
