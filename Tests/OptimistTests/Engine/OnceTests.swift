// This source file is part of the Optimist open source project, under the MIT licence.

import Foundation
import GRDB
import OptimistCore
@_spi(Internals) import OptimistTesting
import OptimistWire
import Testing

@testable import Optimist

@Suite(.timeLimit(.minutes(20)))
struct OnceTests {
    private let server = InMemoryServer(schema: .planner)

    @Test func `S11 syncOnce sends pending rows, receives other devices' rows, and returns`() async throws {
        let (a, b) = (try SyncedPhone(server), try SyncedPhone(server))
        try await a.store.write { db in for number in 1...5 { try Todo(content: "to-do \(number)").insert(db) } }
        let sent = try await engine(of: a).syncOnce()
        #expect(sent.isComplete)
        #expect(sent.end == .done)
        #expect(server.rows("todo").count == 5)
        let received = try await engine(of: b).syncOnce()
        #expect(received.isComplete)
        #expect(try await b.store.todos().count == 5)
    }

    @Test func `S11 offline, syncOnce reports the unreachable server and keeps the rows pending`()
        async throws
    {
        let phone = try SyncedPhone(server)
        phone.remote.isOnline = false
        try await phone.store.write { try Todo(content: "Tickets").insert($0) }
        let engine = engine(of: phone)
        let outcome = try await engine.syncOnce()
        #expect(outcome.end == .offline)
        #expect(outcome.status.counts.pending == 1)
        #expect(!outcome.isComplete)
        #expect("\(outcome)" == "The server cannot be reached. Pending: 1. Rejected: 0.")
        // The backoff after the failures does not delay the next call.
        phone.remote.isOnline = true
        #expect(try await engine.syncOnce().isComplete)
        #expect(server.rows("todo").count == 1)
    }

    @Test func `S11 a call to a server that never answers returns at its timeout`() async throws {
        let phone = try SyncedPhone(server)
        try await phone.store.write { try Todo(content: "Tickets").insert($0) }
        let engine = SyncEngine(store: phone.store, remote: SilentRemote(), reachability: ManualReachability())
        let call = Task { try await engine.syncOnce(timeout: .seconds(20)) }
        await phone.clock.sleepers(atLeast: 2)
        phone.clock.advance(by: .seconds(20))
        let outcome = try await call.value
        #expect(outcome.end == .outOfTime)
        #expect(outcome.status.counts.pending == 1)
        #expect(!engine.isRunning)
    }

    @Test func `S11 during a run, syncOnce leaves the work to that run`() async throws {
        let phone = try SyncedPhone(server)
        let engine = phone.start()
        try await phone.until { try await $0.counts().lastSync != nil }
        try await phone.store.write { try Todo(content: "Tickets").insert($0) }
        #expect(try await engine.syncOnce().end == .done)
        #expect(engine.isRunning)
        await phone.stop()
    }

    @Test func `S11 a run started during syncOnce begins to sync when the call ends`() async throws {
        let phone = try SyncedPhone(server)
        let silent = SilentRemote()
        let engine = SyncEngine(store: phone.store, remote: silent, reachability: ManualReachability())
        let call = Task { try await engine.syncOnce(timeout: .seconds(20)) }
        await phone.clock.sleepers(atLeast: 2)
        let run = Task { await engine.run() }
        phone.clock.advance(by: .seconds(20))
        _ = try await call.value
        for await status in engine.statuses where status.phase == .syncing { break }
        #expect(engine.isRunning)
        run.cancel()
        await run.value
    }

    @Test func `S11 a cancelled call throws and leaves the rows pending`() async throws {
        let phone = try SyncedPhone(server)
        try await phone.store.write { try Todo(content: "Tickets").insert($0) }
        let engine = SyncEngine(store: phone.store, remote: SilentRemote(), reachability: ManualReachability())
        let call = Task { try await engine.syncOnce() }
        await phone.clock.sleepers(atLeast: 2)
        call.cancel()
        await #expect(throws: CancellationError.self) { try await call.value }
        #expect(try await phone.store.counts().pending == 1)
        #expect(!engine.isRunning)
    }

    @Test func `S11 after a server restart, syncOnce completes its own push`() async throws {
        let (backend, phone) = (FakeBackend(), try SyncedPhone(server))
        let remote = PushFirstRemote(backend, phone.store)
        let engine = SyncEngine(store: phone.store, remote: remote, reachability: ManualReachability())
        backend.write("todo", [UUID()], ["content": "Old"])
        #expect(try await engine.syncOnce().isComplete)
        backend.restart(as: "e2")
        backend.write("todo", [UUID()], ["content": "Other"])
        try await phone.store.write { try Todo(content: "Mine").insert($0) }
        remote.holdsPulls.value = true
        let outcome = try await engine.syncOnce()
        #expect(outcome.isComplete, "\(outcome)")
        #expect(try await phone.store.todos().map(\.content) == ["Mine", "Old", "Other"])
        #expect(backend.rows("todo").count == 3)
    }

    @Test func `S11 on a slow network, each call that times out sends fewer rows, until calls make progress`()
        async throws
    {
        let phone = try SyncedPhone(server)
        let remote = SlowRemote(phone.remote, phone.clock, perRowSent: .milliseconds(60))
        for number in 0..<1_500 { try await phone.store.write { try Todo(content: "\(number)").insert($0) } }
        let sent = try await cutCalls(of: phone, remote, whole: 1_500) { server.rows("todo").count }
        #expect(sent.reduce(0, +) == 1_500)
        #expect(!sent.dropFirst(2).contains(0), "\(sent)")
    }

    @Test func `S11 on a slow network, each call that times out requests smaller pages, until all is received`()
        async throws
    {
        let (full, phone) = (try SyncedPhone(server), try SyncedPhone(server))
        try await full.store.write { db in for number in 0..<2_000 { try Todo(content: "\(number)").insert(db) } }
        #expect(try await engine(of: full).syncOnce().isComplete)
        let remote = SlowRemote(phone.remote, phone.clock, perRowReceived: .milliseconds(20))
        let received = try await cutCalls(of: phone, remote, whole: 2_000) {
            try await phone.store.todos().count
        }
        #expect(received.reduce(0, +) == 2_000)
        #expect(received.count <= 8, "\(received)")
    }

    /// Calls `syncOnce` with a timeout of 25 seconds until all rows have arrived, at most 20 times. Returns how many
    /// rows each call added.
    private func cutCalls(
        of phone: SyncedPhone, _ remote: SlowRemote, whole: Int, count: () async throws -> Int
    ) async throws -> [Int] {
        let engine = SyncEngine(store: phone.store, remote: remote, reachability: ManualReachability())
        var progress: [Int] = []
        var before = try await count()
        while before < whole, progress.count < 20 {
            let isOver = Mutexed(false)
            let call = Task {
                defer { isOver.value = true }
                _ = try await engine.syncOnce(timeout: .seconds(25))
            }
            let end = phone.clock.elapsed + .seconds(25)
            var turnsAfterEnd = 0
            while !isOver.value {
                let isAtEnd = phone.clock.elapsed >= end
                if isAtEnd { turnsAfterEnd += 1 }
                // The call may have started its timer a little later than this loop.
                let mayPass = remote.isCarrying && (!isAtEnd || turnsAfterEnd.isMultiple(of: 10_000))
                if mayPass { phone.clock.advance(by: .milliseconds(500)) }
                await Task.yield()
            }
            try await call.value
            let present = try await count()
            progress.append(present - before)
            before = present
        }
        return progress
    }

    @Test func `S11 U3 a cancelled run waits for its last transaction, but not for a request`() async throws {
        let backend = FakeBackend()
        let phone = try SyncedPhone(server)
        let remote = DeafRemote(backend)
        let engine = SyncEngine(store: phone.store, remote: remote, reachability: ManualReachability())
        backend.write("todo", [UUID()], ["content": "Other"])
        // The writer is busy, so the received rows wait for their transaction.
        let (isBusy, mayEnd) = (AsyncGate(), DispatchSemaphore(value: 0))
        remote.beforeAnswer.value = {
            Task {
                try await phone.store.write { _ in
                    isBusy.open()
                    mayEnd.wait()
                }
            }
            await isBusy.opened()
        }
        let hasReturned = Mutexed(false)
        let run = Task {
            await engine.run()
            hasReturned.value = true
        }
        await remote.hasAnswered.opened()
        while await engine.isSettled { await Task.yield() }
        // Enough turns for the answer to reach its transaction, even on a busy machine.
        for _ in 0..<100_000 { await Task.yield() }
        run.cancel()
        for _ in 0..<1_000 { await Task.yield() }
        #expect(!hasReturned.value)
        remote.beforeAnswer.value = nil
        mayEnd.signal()
        await run.value
        #expect(try await phone.store.todos().count == 1)

        remote.isDeaf.value = true
        let second = Task { await engine.run() }
        await remote.isHeld.opened()
        second.cancel()
        await second.value
        let seen = try await phone.store.tableProgress()
        backend.write("todo", [UUID()], ["content": "Late"])
        remote.mayAnswer.open()
        for _ in 0..<1_000 { await Task.yield() }
        #expect(try await phone.store.tableProgress() == seen, "a late answer begins no transaction")
    }

    private func engine(of phone: SyncedPhone) -> SyncEngine {
        SyncEngine(store: phone.store, remote: phone.remote, reachability: phone.reachability)
    }
}

/// A remote that can hold pulls until a push was answered and its rows wait.
private final class PushFirstRemote: Remote {
    let holdsPulls = Mutexed(false)
    private let remote: any Remote
    private let store: Store

    init(_ remote: any Remote, _ store: Store) { (self.remote, self.store) = (remote, store) }

    var guarantees: RemoteGuarantees { remote.guarantees }
    func connect() async throws -> RemoteAccount { try await remote.connect() }
    func push(_ push: RemotePush) async throws -> RemotePush.Answer { try await remote.push(push) }
    func snapshot(_ request: RemoteSnapshot.Request) async throws -> RemoteSnapshot {
        try await remote.snapshot(request)
    }

    func pull(_ request: RemotePage.Request) async throws -> RemotePage {
        let store = store
        while holdsPulls.value {
            if try await store.pendingRows().contains(where: { $0.nextAttempt != nil }) { holdsPulls.value = false }
            await Task.yield()
        }
        return try await remote.pull(request)
    }

    func listen(_ receive: @escaping @Sendable (RemotePoke) -> Void) async throws { throw RemoteFailure.noPokes }
}

private final class SlowRemote: Remote {
    private let remote: any Remote
    private let clock: ManualClock
    private let (perRowSent, perRowReceived): (Duration, Duration)
    private let carried = Mutexed(0)

    init(
        _ remote: any Remote, _ clock: ManualClock, perRowSent: Duration = .zero, perRowReceived: Duration = .zero
    ) {
        (self.remote, self.clock) = (remote, clock)
        (self.perRowSent, self.perRowReceived) = (perRowSent, perRowReceived)
    }

    var isCarrying: Bool { carried.value > 0 }

    var guarantees: RemoteGuarantees { remote.guarantees }
    func connect() async throws -> RemoteAccount { try await remote.connect() }

    func push(_ push: RemotePush) async throws -> RemotePush.Answer {
        try await carry(perRowSent * push.rows.count)
        return try await remote.push(push)
    }

    func pull(_ request: RemotePage.Request) async throws -> RemotePage {
        let page = try await remote.pull(request)
        try await carry(perRowReceived * page.rows.count)
        return page
    }

    func snapshot(_ request: RemoteSnapshot.Request) async throws -> RemoteSnapshot {
        let page = try await remote.snapshot(request)
        try await carry(perRowReceived * page.rows.count)
        return page
    }

    private func carry(_ time: Duration) async throws {
        if time == .zero { return }
        carried.value += 1
        defer { carried.value -= 1 }
        try await clock.sleep(for: time)
    }

    func listen(_ receive: @escaping @Sendable (RemotePoke) -> Void) async throws { throw RemoteFailure.noPokes }
}

/// A remote that can ignore the cancellation of its pulls.
private final class DeafRemote: Remote {
    let beforeAnswer = Mutexed<(@Sendable () async -> Void)?>(nil)
    let hasAnswered = AsyncGate()
    let isDeaf = Mutexed(false)
    let (isHeld, mayAnswer) = (AsyncGate(), AsyncGate())
    private let remote: any Remote

    init(_ remote: any Remote) { self.remote = remote }

    var guarantees: RemoteGuarantees { remote.guarantees }
    func connect() async throws -> RemoteAccount { try await remote.connect() }
    func push(_ push: RemotePush) async throws -> RemotePush.Answer { try await remote.push(push) }

    func snapshot(_ request: RemoteSnapshot.Request) async throws -> RemoteSnapshot {
        let page = try await remote.snapshot(request)
        await beforeAnswer.value?()
        hasAnswered.open()
        return page
    }

    func pull(_ request: RemotePage.Request) async throws -> RemotePage {
        guard isDeaf.value else { return try await remote.pull(request) }
        isHeld.open()
        await Task { [mayAnswer] in await mayAnswer.opened() }.value
        return try await remote.pull(request)
    }

    func listen(_ receive: @escaping @Sendable (RemotePoke) -> Void) async throws { throw RemoteFailure.noPokes }
}

private final class AsyncGate: Sendable {
    private let stream: AsyncStream<Void>
    private let continuation: AsyncStream<Void>.Continuation

    init() { (stream, continuation) = AsyncStream.makeStream() }

    func open() { continuation.finish() }
    func opened() async { for await _ in stream {} }
}

private struct SilentRemote: Remote {
    func connect() async throws -> RemoteAccount { try await never() }
    func push(_ push: RemotePush) async throws -> RemotePush.Answer { try await never() }
    func pull(_ request: RemotePage.Request) async throws -> RemotePage { try await never() }
    func listen(_ receive: @escaping @Sendable (RemotePoke) -> Void) async throws { let _: Never = try await never() }

    private func never<T>() async throws -> T {
        let (stream, continuation) = AsyncStream<Never>.makeStream()
        for await _ in stream {}
        continuation.finish()
        throw CancellationError()
    }
}
