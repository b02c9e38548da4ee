// This source file is part of the Optimist open source project, under the MIT licence.

import Foundation
import GRDB
import Optimist
import OptimistWire
import TestForm
import Testing

@testable import Optimist
@testable import OptimistCore
@_spi(Internals) @testable import OptimistServing
@_spi(Internals) @testable import OptimistTesting

extension ManualClock {
    var timeOfDay: Date { Date(timeIntervalSince1970: 1_790_000_000 + elapsed / .seconds(1)) }
}

final class SyncedPhone: Sendable {
    let clock: ManualClock
    let remote: InMemoryRemote
    let reachability = ManualReachability()
    let folder: URL
    let store: Store
    private let installID: UUID?
    private let running = Mutex<(engine: SyncEngine, task: Task<Void, Never>)?>(nil)

    /// - Parameter clock: The phone's clock. If a test advances it by more than a minute, the server needs the same
    ///   clock: otherwise the phone is ahead of the server and gives its edits new stamps.
    init(_ server: InMemoryServer, clock: ManualClock = ManualClock(), folder: URL? = nil, installID: UUID? = nil)
        throws
    {
        self.clock = clock
        self.installID = installID
        remote = InMemoryRemote(server)
        self.folder = folder ?? FileManager.default.temporaryDirectory.appending(path: "optimist-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: self.folder, withIntermediateDirectories: true)
        store = try Store(
            at: self.folder.appending(path: "planner.sqlite"), synced: [Todo.self], durability: .normal,
            dependencies: Dependencies(clock: clock, now: { clock.timeOfDay }, seed: 7),
            migrate: Todo.migrate)
    }

    @discardableResult
    func start() -> SyncEngine {
        let engine = SyncEngine(
            store: store, remote: remote, reachability: reachability, installID: installID)
        let task = Task { await engine.run() }
        running.withLock { $0 = (engine, task) }
        return engine
    }

    /// Stops like a crash: the server is not notified.
    func stop() async {
        let running = running.withLock { running in
            defer { running = nil }
            return running
        }
        running?.task.cancel()
        await running?.task.value
    }

    /// Goes online and repeats the report until everything is sent: the engine may miss a report, and an attempt under
    /// way may still fail.
    func comeOnline() async throws {
        remote.isOnline = true
        while !Task.isCancelled, try await store.counts().pending > 0 {
            for isOnline in [false, true] {
                reachability.update(isOnline: isOnline)
                await Task.yield()
            }
        }
    }

    func until(_ condition: @escaping @Sendable (Store) async throws -> Bool) async throws {
        let changes = store.changes.stream()
        if try await condition(store) { return }
        try await changes.reach { _ in try await condition(store) }
    }

    func untilClean() async throws { try await until { try await $0.counts().pending == 0 } }

    func untilContents(_ contents: [String]) async throws {
        try await until { try await $0.todos().map(\.content) == contents }
    }

    func write(_ sql: String) async throws { try await store.write { try $0.execute(sql: sql) } }
}

@Suite(.timeLimit(.minutes(20)))
struct SyncEngineTests {
    private let server = InMemoryServer(schema: .planner)

    @Test func `a to-do written on one phone appears on the other`() async throws {
        let (a, b) = (try SyncedPhone(server), try SyncedPhone(server))
        a.start()
        b.start()
        try await a.store.write { try Todo(content: "Tickets").insert($0) }
        try await b.untilContents(["Tickets"])
        try await b.write("UPDATE todo SET done = 1")
        try await a.until { try await $0.todos().first?.done == true }
        try await b.write("DELETE FROM todo")
        try await a.untilContents([])
        #expect(server.rows("todo").isEmpty)
        await a.stop()
        await b.stop()
    }

    @Test func `S1 many offline edits of one to-do send one patch`() async throws {
        let phone = try SyncedPhone(server)
        phone.start()
        try await phone.store.write { try Todo(content: "Tickets").insert($0) }
        try await phone.untilClean()
        await phone.stop()
        let before = server.pushes.count
        for edit in 1...20 { try await phone.write("UPDATE todo SET content = 'edit \(edit)'") }
        phone.start()
        try await phone.untilClean()
        let pushes = server.pushes.dropFirst(before)
        #expect(pushes.count == 1)
        #expect(pushes.first?.rows.count == 1)
        #expect(server.rows("todo").values.first?["content"] == "edit 20")
        await phone.stop()
    }

    @Test func `Q3: the status shows whether the device has caught up since it connected`() async throws {
        let phone = try SyncedPhone(server)
        let engine = phone.start()
        try await engine.statuses.reach { $0.isCaughtUp && $0.counts.lastSync != nil }
        phone.remote.isOnline = false
        try await phone.store.write { try Todo(content: "Tickets").insert($0) }
        try await engine.statuses.reach { $0.phase == .offline && !$0.isCaughtUp }
        #expect(try await engine.statuses.current().counts.lastSync != nil)
        try await phone.comeOnline()
        try await engine.statuses.reach { $0.isCaughtUp && $0.counts.pending == 0 }
        await phone.stop()
        #expect(try await engine.statuses.current().isCaughtUp == false)
    }

    @Test func `Q3: an observer never sees an older status after a newer one`() async throws {
        let phone = try SyncedPhone(server)
        let statuses = SyncStatuses(store: phone.store)
        let writing = Task {
            for number in 0..<500 { try await phone.store.write { try Todo(content: "\(number)").insert($0) } }
        }
        var last = 0
        while last < 500, !Task.isCancelled {
            var seen = [last]
            for await status in statuses {
                seen.append(status.counts.pending)
                if seen.count == 4 || status.counts.pending == 500 { break }
            }
            #expect(seen == seen.sorted())
            last = seen.last ?? 0
        }
        try await writing.value
    }

    @Test func `S1 a row inserted and deleted offline is never sent, even after failed attempts`() async throws {
        let clock = ManualClock()
        let server = InMemoryServer(schema: .planner, now: { clock.timeOfDay })
        let phone = try SyncedPhone(server, clock: clock)
        phone.start()
        try await phone.until { try await $0.counts().lastSync != nil }
        phone.remote.isOnline = false
        try await phone.store.write { try Todo(content: "Tickets").insert($0) }
        while phone.remote.attempts < 10 || clock.elapsed < .seconds(120) {
            await clock.sleepers(atLeast: 2)
            clock.advance(by: clock.untilNextSleeper ?? .seconds(1))
        }
        // The row is deleted between two attempts, because the device does not know whether a push under way arrives.
        try await phone.until { store in
            try await store.write { db in
                let isUnderWay = try Int.fetchOne(db, sql: "SELECT sent FROM optimist_edit") != 0
                if !isUnderWay { try db.execute(sql: "DELETE FROM todo") }
                return !isUnderWay
            }
        }
        #expect(try await phone.store.counts().pending == 0)
        phone.remote.isOnline = true
        phone.reachability.update(isOnline: true)
        try await phone.store.write { try Todo(content: "Next").insert($0) }
        try await phone.untilClean()
        #expect(server.pushes.flatMap(\.rows).count == 1)
        await phone.stop()
    }

    @Test func `S3 repeating a push after a lost answer changes nothing`() async throws {
        let (a, b) = (try SyncedPhone(server), try SyncedPhone(server))
        try await a.store.write { try Todo(content: "Tickets").insert($0) }
        server.inject(.answerLost, .answerLost)
        a.start()
        try await a.untilClean()
        b.start()
        try await b.untilContents(["Tickets"])
        #expect(server.pushes.count > 1)
        #expect(server.rows("todo").count == 1)
        #expect(server.seq == 1, "the repetition was not a separate transaction")
        await a.stop()
        await b.stop()
    }

    @Test func `S9 a push that is too much work is halved, and a single group that is too large is refused`()
        async throws
    {
        let looks = Mutex(0)
        let server = InMemoryServer(
            schema: .planner,
            workBudget: WorkBudget(.milliseconds(30), freeSteps: 512) {
                looks.withLock {
                    $0 += 1
                    return .milliseconds($0)
                }
            })
        let phone = try SyncedPhone(server)
        for number in 0..<1000 { try await phone.store.write { try Todo(content: "\(number)").insert($0) } }
        phone.start()
        try await phone.untilClean()
        #expect(server.rows("todo").count == 1000)
        #expect(server.pushes.first?.rows.count == 1000 && server.seq > 1)
        #expect(try await phone.store.rejections().isEmpty)
        // Rows written together are never split.
        try await phone.store.write { db in
            for number in 1000..<1900 { try Todo(content: "\(number)").insert(db) }
        }
        try await phone.until { try await !$0.rejections().isEmpty }
        try await phone.store.write { try Todo(content: "and on").insert($0) }
        try await phone.untilClean()
        #expect(server.rows("todo").count == 1001)
        #expect(try await phone.store.rejections().allSatisfy { $0.code == "tooLarge" })
        await phone.stop()
    }

    @Test(arguments: [true, false])
    func `M1 two phones that edit different columns offline keep both edits`(aFirst: Bool) async throws {
        let (a, b) = (try SyncedPhone(server), try SyncedPhone(server))
        a.start()
        b.start()
        try await a.store.write { try Todo(content: "Tickets").insert($0) }
        try await b.untilContents(["Tickets"])
        try await a.untilClean()
        await a.stop()
        await b.stop()
        try await a.write("UPDATE todo SET content = 'Two tickets'")
        try await b.write("UPDATE todo SET done = 1, priority = 3")
        let order = aFirst ? [a, b] : [b, a]
        for phone in order {
            phone.start()
            try await phone.untilClean()
        }
        for phone in order {
            try await phone.until { store in
                let todo = try await store.todos().first
                return todo?.content == "Two tickets" && todo?.done == true && todo?.priority == 3
            }
        }
        await a.stop()
        await b.stop()
    }

    @Test func `V2 a refused row is undone, the other rows are sent, and a corrected retry succeeds`() async throws {
        let strict = InMemoryServer(schema: .planner) { row in
            guard case .create(let patch) = row.change, (patch.values["content"]?.string?.count ?? 0) > 10 else {
                return nil
            }
            return .rejected(RemotePush.Refusal(code: "invalidProperties", column: "content", message: "too long"))
        }
        let phone = try SyncedPhone(strict)
        try await phone.store.write { db in
            try Todo(content: "This is far too long").insert(db)
            try Todo(content: "Behind it").insert(db)
        }
        phone.start()
        try await phone.untilClean()
        #expect(try await phone.store.todos().map(\.content) == ["Behind it"])
        let rejection = try #require(try await phone.store.rejections().first)
        #expect(rejection.mine["content"] == "This is far too long")
        try await phone.store.retry(rejection, with: ["content": "Shorter"])
        try await phone.untilClean()
        #expect(Set(strict.rows("todo").values.map { $0["content"] }) == ["Behind it", "Shorter"])
        await phone.stop()
    }

    /// Ten minutes of virtual time. The clock advances while no request is under way: then the three lanes and the
    /// watchdog sleep.
    @Test
    func `S5 after ten minutes of outage and a relaunch, the saved wait applies and one success sends everything`()
        async throws
    {
        let clock = ManualClock()
        let server = InMemoryServer(schema: .planner, now: { clock.timeOfDay })
        server.setOutage(.unreachable("down"))
        let phone = try SyncedPhone(server, clock: clock)
        for index in 0..<50 { try await phone.store.write { try Todo(content: "\(index)").insert($0) } }
        let engine = phone.start()
        // The store also sleeps after a write, so the four sleepers may include other tasks. A lane at work does not
        // have a wait to resume, and a very short wait would be over at the relaunch.
        func isResting() async throws -> Bool {
            let waits = try await phone.store.savedWaits()
            return SyncMachine.Lane.allCases.allSatisfy { waits[$0]?.remaining ?? .zero >= .seconds(1) }
        }
        while true {
            await clock.sleepers(atLeast: 4)
            if clock.elapsed >= .seconds(600), try await isResting() { break }
            clock.advance(by: clock.untilNextSleeper ?? .seconds(1))
        }
        #expect(try await engine.statuses.current().phase == .offline)
        #expect((20...400).contains(server.connects), "\(server.connects) attempts of three lanes in ten minutes")
        await phone.stop()

        let waits = try await phone.store.savedWaits()
        #expect((waits[.push]?.failures ?? 0) > 5)
        let attempts = server.connects
        phone.start()
        await clock.sleepers(atLeast: 4)
        #expect(server.connects == attempts, "a relaunch does not stampede")
        server.setOutage(nil)
        clock.advance(by: .seconds(60))
        try await phone.untilClean()
        #expect(server.rows("todo").count == 50)
        try await phone.until { try await $0.savedWaits()[.push] == nil }
        await phone.stop()
    }

    @Test func `S5 a device that comes online sends immediately`() async throws {
        let phone = try SyncedPhone(server)
        phone.remote.isOnline = false
        try await phone.store.write { try Todo(content: "Tickets").insert($0) }
        phone.start()
        await phone.clock.sleepers(atLeast: 4)
        try await phone.comeOnline()
        #expect(phone.clock.elapsed == .zero)
        await phone.stop()
    }

    @Test func `W5 rows written before sync was set up are sent`() async throws {
        let phone = try SyncedPhone(server)
        try await phone.store.write { try Todo(content: "Early").insert($0) }
        #expect(try await phone.store.counts().pending == 1)
        phone.start()
        try await phone.untilClean()
        #expect(server.rows("todo").count == 1)
        await phone.stop()
    }

    @Test func `L2 a file belongs to one account, and sync with another one is refused`() async throws {
        let phone = try SyncedPhone(server)
        try await phone.store.bind(to: "elsewhere#2")
        try await phone.store.write { try Todo(content: "Private").insert($0) }
        let engine = phone.start()
        try await engine.statuses.reach { status in
            guard case .paused(let reason) = status.phase else { return false }
            #expect(reason.code == .otherAccount)
            #expect(reason.message.hasSuffix("."))
            return true
        }
        #expect(server.pushes.isEmpty)
        #expect(try await phone.store.counts().pending == 1)
        await phone.stop()
    }

    @Test func `L3 a push that the server reports as rewound renews the device id and loses nothing`() async throws {
        let phone = try SyncedPhone(server)
        server.inject(.failure(.pushRewound), .failure(.pushRewound))
        try await phone.store.write { try Todo(content: "Tickets").insert($0) }
        let before = try await phone.store.read { try DeviceIdentity.current(in: $0) }
        phone.start()
        try await phone.untilClean()
        #expect(try await phone.store.read { try DeviceIdentity.current(in: $0) } != before)
        #expect(server.rows("todo").count == 1)
        await phone.stop()
    }

    @Test func `R1 many pages deliver every row exactly as it was written`() async throws {
        let (a, b) = (try SyncedPhone(server), try SyncedPhone(server))
        let count = TestForm.of(short: 3_000, full: 12_000)
        a.start()
        try await a.store.write { db in
            for index in 0..<count { try Todo(content: "\(index)").insert(db) }
        }
        try await a.untilClean()
        b.start()
        try await b.until { try await $0.todos().count == count }
        #expect(try await b.store.todos() == a.store.todos())
        await a.stop()
        await b.stop()
    }
}
