// This source file is part of the Optimist open source project, under the MIT licence.

import Foundation
import GRDB
import Logging
import OptimistServing
@_spi(Internals) import OptimistTesting
@_spi(Internals) import OptimistWire
import Testing

@_spi(Internals) @testable import Optimist
@testable import OptimistCore

/// The status and the pending rows while rows are deferred or the engine is not running.
@Suite(.timeLimit(.minutes(20)))
struct WaitingRowsTests {
    private static let unknownAlarm = DeferralReason("schemaTooNew", column: "alarm")

    private static let now: @Sendable () -> Date = { Date(timeIntervalSince1970: 1_790_000_000) }

    /// A phone after the server deferred its row because of a column that the server lacks.
    private func refusedPhone() async throws -> (phone: SyncedPhone, engine: SyncEngine) {
        var schema = Schema.planner
        schema.types["todo"]?.columns["alarm"] = nil
        let phone = try SyncedPhone(InMemoryServer(schema: schema, now: Self.now))
        let todo = Todo(content: "Tickets", alarm: Date(timeIntervalSince1970: 1_800_000_000))
        try await phone.store.write { try todo.insert($0) }
        let engine = phone.start()
        try await engine.statuses.reach { $0.phase == .deferred }
        return (phone, engine)
    }

    @Test func `S6 V1 a deferred row shows the server's reason and its next attempt`()
        async throws
    {
        let (phone, engine) = try await refusedPhone()
        let due = Date(timeIntervalSince1970: 1_790_000_005)
        let status = try await engine.statuses.current()
        #expect(status.counts.pending == 1)
        #expect(status.deferred.map(\.reason) == [Self.unknownAlarm])
        #expect(status.deferred.map(\.table) == ["todo"])
        #expect(status.deferred.map(\.count) == [1])
        let next = try #require(status.deferred.first?.nextAttempt)
        #expect(abs(next.timeIntervalSince(due)) < 0.1)
        let row = try #require(try await phone.store.pendingRows().first)
        #expect(row.waitReason == Self.unknownAlarm)
        #expect(row.nextAttempt == next)
        let printed = try JSON(parsing: "\(row)".utf8)
        #expect(printed["table"] == "todo" && printed["id"] == .string(row.rowID) && printed["kind"] == "create")
        #expect(printed["columns"]?.object?.members.map(\.key) == row.columns.keys.sorted())
        #expect(printed["since"]?.string.map(UTCDate.isValid) == true)
        #expect(try printed["waitReason"] == JSON(parsing: "\(Self.unknownAlarm)".utf8))
        #expect(printed["waitReason"]?["code"] == "schemaTooNew" && printed["waitReason"]?["column"] == "alarm")
        #expect(!"\(row)".contains("Tickets"), "the description never has values")
        await phone.stop()
    }

    @Test func `Q3 the reason why a row waits survives a relaunch and shows in an inspection`() async throws {
        let (phone, _) = try await refusedPhone()
        await phone.stop()
        let again = try SyncedPhone(InMemoryServer(schema: .planner, now: Self.now), folder: phone.folder)
        let row = try #require(try await again.store.pendingRows().first)
        #expect(row.waitReason == Self.unknownAlarm)
        let inspection = try DatabaseInspection(of: phone.folder.appending(path: "planner.sqlite"))
        #expect(inspection.pending.map(\.waitReason) == [Self.unknownAlarm])
        #expect(inspection.pending.first?.nextAttempt == row.nextAttempt)
        // This server knows the column.
        let engine = again.start()
        try await again.clock.pass(.seconds(1), for: engine) { try await again.store.counts().pending == 0 }
        try await engine.statuses.reach { $0.phase == .idle }
        #expect(try await engine.statuses.current().deferred.isEmpty)
        #expect(try await again.store.read { try Int.fetchOne($0, sql: "SELECT count(*) FROM optimist_wait") } == 0)
        await again.stop()
    }

    @Test func `V1 all rows of a table that the server lacks wait for the same reason`() async throws {
        var schema = Schema.planner
        schema.types = ["note": TypeSchema(columns: ["text": ColumnSchema(.string)])]
        let phone = try SyncedPhone(InMemoryServer(schema: schema))
        for content in ["a", "b"] { try await phone.store.write { try Todo(content: content).insert($0) } }
        let engine = phone.start()
        try await engine.statuses.reach { $0.phase == .deferred && $0.deferred.first?.count == 2 }
        #expect(try await phone.store.pendingRows().allSatisfy { $0.waitReason == DeferralReason("unknownMethod") })
        await phone.stop()
    }

    @Test func `Q3 the rows of a group share a reason to wait, and an edit clears it`() async throws {
        let phone = try SyncedPhone(InMemoryServer(schema: .planner))
        try await phone.store.write { db in
            try Todo(content: "a").insert(db)
            try Todo(content: "b").insert(db)
        }
        let batch = try #require(try await phone.store.nextPush(PushLimit()))
        let name = batch.push.rows[0].name
        try await phone.store.apply(
            [.retry(after: .seconds(60), Self.unknownAlarm), .groupFailed(by: [name], current: nil)], of: batch)
        let rows = try await phone.store.pendingRows()
        #expect(rows.map(\.waitReason) == [Self.unknownAlarm, Self.unknownAlarm])
        #expect(Set(rows.map(\.nextAttempt)).count == 1)
        try await phone.write("UPDATE todo SET content = content || '!'")
        #expect(try await phone.store.pendingRows().allSatisfy { $0.waitReason == nil && $0.nextAttempt == nil })
    }

    @Test func `Q3 an engine is stopped before it runs and after it is cancelled`() async throws {
        let phone = try SyncedPhone(InMemoryServer(schema: .planner))
        try await phone.store.write { try Todo(content: "a").insert($0) }
        let idle = SyncEngine(store: phone.store, remote: phone.remote, reachability: phone.reachability)
        #expect(try await idle.statuses.current().phase == .stopped)
        let engine = phone.start()
        try await phone.untilClean()
        try await engine.statuses.reach { $0.phase == .idle }
        await phone.stop()
        #expect(try await engine.statuses.current().phase == .stopped)
    }

    @Test func `S5 an unanswered push is given up after 15 minutes, logged, and sent again`() async throws {
        let server = InMemoryServer(schema: .planner)
        let phone = try SyncedPhone(server)
        let remote = SilentRemote(phone.remote)
        let log = Log()
        try await phone.store.write { try Todo(content: "a").insert($0) }
        let engine = SyncEngine(
            store: phone.store, remote: remote, reachability: phone.reachability,
            logger: Logger(label: "test") { _ in log })
        let running = Task { await engine.run() }
        await remote.untilAsked()
        await phone.clock.pass(.seconds(60), for: nil) { !server.rows("todo").isEmpty }
        try await phone.untilClean()
        #expect(phone.clock.elapsed >= .seconds(900))
        #expect(log.lines.withLock { $0 }.contains { $0.contains("has not answered") })
        remote.answer()
        running.cancel()
        await running.value
    }

    @Test func `S5 the answer to an abandoned push is ignored, and its rows stay pending`() async throws {
        let phone = try SyncedPhone(InMemoryServer(schema: .planner))
        let remote = SilentRemote(phone.remote)
        let engine = SyncEngine(store: phone.store, remote: remote, reachability: phone.reachability)
        try await phone.store.write { try Todo(content: "a").insert($0) }
        let batch = try #require(try await phone.store.nextPush(PushLimit(rows: 10)))
        let sending = Task { try await engine.send(batch) }
        await remote.untilAsked()
        sending.cancel()
        remote.answer()
        await #expect(throws: CancellationError.self) { try await sending.value }
        #expect(try await phone.store.counts().pending == 1)
    }

    @Test func `S5 a push that is cancelled before it is sent leaves its rows pending`() async throws {
        let server = InMemoryServer(schema: .planner)
        let phone = try SyncedPhone(server)
        try await phone.store.write { try Todo(content: "a").insert($0) }
        let engine = SyncEngine(store: phone.store, remote: phone.remote, reachability: phone.reachability)
        let batch = try #require(try await phone.store.nextPush(PushLimit(rows: 10)))
        let sending = Task {
            while !Task.isCancelled { await Task.yield() }
            _ = try await engine.send(batch)
        }
        sending.cancel()
        await #expect(throws: RemoteFailure.notSent("Sync was stopped.")) { try await sending.value }
        #expect(server.pushes.isEmpty)
        #expect(try await phone.store.counts().pending == 1)
    }
}

/// Holds the first push until `answer()`, even if it is cancelled, and answers everything else.
private final class SilentRemote: Remote {
    private let remote: InMemoryRemote
    private let silence = Mutex<(isOver: Bool, waiting: CheckedContinuation<Void, Never>?)>((false, nil))
    private let asked = AsyncStream<Void>.makeStream()

    init(_ remote: InMemoryRemote) { self.remote = remote }

    func untilAsked() async { for await _ in asked.stream { return } }

    func answer() { silence.withLock { $0.waiting }?.resume() }

    func push(_ push: RemotePush) async throws -> RemotePush.Answer {
        let isFirst = silence.withLock { silence in
            defer { silence.isOver = true }
            return !silence.isOver
        }
        if isFirst {
            await withCheckedContinuation { continuation in
                silence.withLock { $0.waiting = continuation }
                asked.continuation.yield()
            }
        }
        return try await remote.push(push)
    }

    func connect() async throws -> RemoteAccount { try await remote.connect() }
    func pull(_ request: RemotePage.Request) async throws -> RemotePage { try await remote.pull(request) }
    func snapshot(_ request: RemoteSnapshot.Request) async throws -> RemoteSnapshot {
        try await remote.snapshot(request)
    }
    func listen(_ receive: @escaping @Sendable (RemotePoke) -> Void) async throws { try await remote.listen(receive) }
}

private final class Log: LogHandler {
    let lines = Mutex<[String]>([])
    var metadata: Logger.Metadata {
        get { [:] }
        set {}
    }
    var logLevel: Logger.Level {
        get { .info }
        set {}
    }

    subscript(metadataKey _: String) -> Logger.Metadata.Value? {
        get { nil }
        set {}
    }

    func log(event: LogEvent) { lines.withLock { $0.append("\(event.message)") } }
}
