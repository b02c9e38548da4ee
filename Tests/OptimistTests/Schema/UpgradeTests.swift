// This source file is part of the Optimist open source project, under the MIT licence.

import Foundation
import GRDB
import Optimist
import OptimistServing
@_spi(Internals) import OptimistTesting
@_spi(Internals) import OptimistWire
import Testing

@testable import Optimist
@testable import OptimistCore

@Suite(.timeLimit(.minutes(20)))
struct UpgradeTests {
    private let backend = FakeBackend()

    @Test(arguments: [WithheldReason.upgradeRequired, .refused])
    func `L1 a table pauses while the server withholds it, and the other tables sync`(reason: WithheldReason)
        async throws
    {
        backend.write("shelf", [id(1)], ["name": "Shelf"])
        let reader = try Reader(backend)
        try await reader.sync()
        backend.settings.withLock { $0.withheld = ["tag": reason] }
        try await reader.write("INSERT INTO tag VALUES (?, 'mine')", [id(31)])
        try await reader.write("UPDATE shelf SET name = 'Mine' WHERE id = ?", [id(1)])
        backend.write("book", [id(11)], ["title": "New"])
        let engine = reader.start()
        func isWaiting() async throws -> Bool {
            let pending = try await reader.store.counts().pending
            return try await reader.rows("book").isEmpty || pending != 1
        }
        try await reader.pass(.seconds(1)) { try await !isWaiting() }
        let status = try await engine.statuses.current()
        #expect(status.upgradeRequired == (reason == .upgradeRequired ? ["tag"] : []))
        #expect(status.tablesWithoutAccess == (reason == .refused ? ["tag"] : []))
        #expect(status.isComplete)
        #expect(backend.rows("shelf").values.first?["name"] == "Mine")
        await reader.stop()
        #expect(try await reader.store.counts().pending == 1)
        backend.settings.withLock { $0.withheld = [:] }
        try reader.reopen()
        try await reader.sync()
        #expect(try await reader.isEqualToBackend())
        #expect(backend.rows("tag").count == 1)
    }

    @Test(arguments: [true, false])
    func `S9 a remote that answers no table and withholds none is reported after one retry`(hasSnapshots: Bool)
        async throws
    {
        backend.settings.withLock { ($0.answersNothing, $0.hasSnapshots) = (true, hasSnapshots) }
        let reader = try Reader(backend)
        let engine = reader.start()
        func hasFailed() async throws -> Bool {
            if case .failed = try await engine.statuses.current().phase { true } else { false }
        }
        try await reader.pass(.milliseconds(100)) {
            if try await hasFailed() { return true }
            return backend.requests.count >= 20
        }
        #expect(try await hasFailed())
        await reader.stop()
        #expect(backend.requests.filter { $0.hasPrefix(hasSnapshots ? "snapshot" : "pull") }.count == 2)
    }

    @Test func `L1 a column that the server lacks does not hide its row`() async throws {
        var schema = Schema.planner
        schema.types["todo"]?.columns["alarm"] = nil
        let server = InMemoryServer(schema: schema)
        let phone = try SyncedPhone(server)
        let todo = Todo(content: "Tickets", alarm: Date(timeIntervalSince1970: 1_800_000_000))
        try await phone.store.write { try todo.insert($0) }
        phone.start()
        let answered =
            "SELECT EXISTS (SELECT 1 FROM optimist_edit WHERE due IS NOT NULL) OR EXISTS (SELECT 1 FROM optimist_remote)"
        try await phone.until { try await $0.read { try Bool.fetchOne($0, sql: answered) } == true }
        #expect(try await phone.store.todos().map(\.content) == ["Tickets"])
        #expect(try await phone.store.counts().pending == 1)
        #expect(try await phone.store.rejections().isEmpty)
        await phone.stop()
    }

    @Test func `S5 a Retry-After date is measured by the server's clock`() {
        let failure = AnswerClass.failure(
            status: 503, retryAfter: "Sun, 06 Nov 1994 08:49:37 GMT", date: "Sun, 06 Nov 1994 08:49:07 GMT", body: [])
        #expect(failure == .throttled(after: .seconds(30)))
        let past = AnswerClass.failure(
            status: 503, retryAfter: "Sun, 06 Nov 1994 08:49:37 GMT", date: "Sun, 06 Nov 1994 08:50:07 GMT", body: [])
        #expect(past == .throttled(after: .zero))
    }

    @Test func `S5 a saved wait ends in time after a relaunch, even if the clock was set back`()
        async throws
    {
        let phone = try Phone()
        try await phone.store.saveWait(of: .push, failures: 9, wait: .seconds(50), isDemanded: false)
        try await phone.store.saveWait(of: .pull, failures: 9, wait: .seconds(3000), isDemanded: true)
        phone.advance(-86_400_000)
        let waits = try await phone.store.savedWaits()
        #expect(waits[.push]?.remaining == .seconds(50))
        #expect(waits[.pull]?.remaining == .seconds(3000))
    }

    @Test func `V1 a row deferred without a due time waits longer after each deferral`() async throws {
        let phone = try Phone()
        try await phone.store.write { try Todo(content: "Tickets").insert($0) }
        var waits: [Duration] = []
        for _ in 0..<14 {
            let batch = try #require(try await phone.store.nextPush(PushLimit()))
            try await phone.store.apply([.retry(after: nil)], of: batch)
            let wait = try #require(try await phone.store.pushOutlook().nextDue)
            waits.append(wait)
            phone.advance(wait.milliseconds)
        }
        #expect(waits.prefix(3) == [.seconds(5), .seconds(10), .seconds(20)])
        #expect(waits.last == .seconds(900))
    }
}
