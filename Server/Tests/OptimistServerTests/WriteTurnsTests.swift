// This source file is part of the Optimist open source project, under the MIT licence.

import Foundation
import GRDB
@_spi(Internals) import OptimistServing
@_spi(Internals) import OptimistWire
import Synchronization
import Testing

@testable import OptimistServer

/// The order of writes.
@Suite(.embedded, .timeLimit(.minutes(20)))
struct WriteTurnsTests {
    let site = Site()

    /// Takes the writes of one transaction and returns their owners. A write lasts its owner's duration, by default 1
    /// ms.
    private func transaction(
        _ queue: inout WriteQueue<Int>, _ lasting: [String: Duration] = [:]
    ) -> [String] {
        var owners: [String] = []
        var next = queue.first()
        while let turn = next {
            owners.append(turn.owner)
            queue.finished(turn, after: lasting[turn.owner] ?? .milliseconds(1))
            next = queue.another()
        }
        return owners
    }

    @Test func `owners take turns, and each owner's writes keep their order`() {
        var queue = WriteQueue<Int>()
        for number in 0..<3 { queue.add(number, of: "a") }
        queue.add(3, of: "b")
        queue.add(4, of: "c")
        var taken: [Int] = []
        var next = queue.first()
        while let turn = next {
            taken.append(turn.write)
            queue.finished(turn, after: .zero)
            next = queue.another()
        }
        #expect(taken == [0, 3, 4, 1, 2])
        #expect(queue.count == 0 && queue.first() == nil)
    }

    @Test func `owners of long writes get separate transactions, one after each shared transaction`() {
        var queue = WriteQueue<Int>()
        let long: [String: Duration] = ["a": .milliseconds(750), "b": .milliseconds(750)]
        for number in 0..<3 {
            for owner in ["a", "b", "c", "d"] { queue.add(number, of: owner) }
        }
        #expect(transaction(&queue, long) == ["a", "b", "c", "d", "c", "d", "c", "d"], "nobody is known yet")
        for _ in 0..<2 { queue.add(9, of: "c") }
        #expect(transaction(&queue, long) == ["c", "c"])
        #expect(transaction(&queue, long) == ["a"])
        queue.add(9, of: "c")
        #expect(transaction(&queue, long) == ["c"])
        #expect(transaction(&queue, long) == ["b"])
        // After a short write, an owner shares transactions again.
        #expect(transaction(&queue) == ["a"])
        #expect(transaction(&queue) == ["b"])
        for owner in ["a", "b", "c"] { queue.add(9, of: owner) }
        #expect(transaction(&queue) == ["a", "b", "c"])
    }

    @Test func `another account's write waits for at most one of ten long writes`()
        async throws
    {
        let pool = try await site.open().database.pool
        let log = WriteLog()
        let commits = GroupCommit(writer: pool) { log.time.withLock(\.self) }
        let gate = await pool.hold()
        @Sendable func write(_ owner: String, _ duration: Duration) async throws {
            try await commits.write(of: owner) { _ in
                log.owners.withLock { $0.append(owner) }
                log.time.withLock { $0 += duration }
            }
        }
        try await withThrowingTaskGroup { group in
            for count in 1...10 {
                group.addTask { try await write("heavy", .milliseconds(750)) }
                while commits.waitingCount < count { await Task.yield() }
            }
            for count in 11...15 {
                group.addTask { try await write("light", .milliseconds(5)) }
                while commits.waitingCount < count { await Task.yield() }
            }
            gate.signal()
            try await group.waitForAll()
        }
        let owners = log.owners.withLock(\.self)
        #expect(owners.prefix(6) == ["heavy", "light", "light", "light", "light", "light"])
        #expect(owners.count == 15)
    }

    @Test func `in a shared transaction, only the writes within their budgets are repeated`() async throws {
        let pool = try await site.open().database.pool
        try await pool.write { try $0.execute(sql: "CREATE TABLE t (n INTEGER PRIMARY KEY)") }
        let commits = GroupCommit(writer: pool) { .zero }
        let log = WriteLog()
        let gate = await pool.hold()
        try await withThrowingTaskGroup { group in
            for number in 1...3 {
                group.addTask {
                    try await commits.write(of: "\(number)") { db in
                        try db.execute(sql: "INSERT INTO t VALUES (?)", arguments: [number])
                    }
                }
                while commits.waitingCount < number { await Task.yield() }
            }
            group.addTask {
                await #expect(throws: WorkStopped.self) {
                    try await commits.write(of: "heavy") { db in
                        log.owners.withLock { $0.append("heavy") }
                        try db.execute(sql: "INSERT INTO t VALUES (99)")
                        throw WorkStopped.overBudget
                    }
                }
            }
            while commits.waitingCount < 4 { await Task.yield() }
            gate.signal()
            try await group.waitForAll()
        }
        #expect(log.owners.withLock(\.self) == ["heavy"])
        #expect(try await pool.read { try Int.fetchAll($0, sql: "SELECT n FROM t ORDER BY n") } == [1, 2, 3])
    }

    @Test func `a write removed from the queue delays no other write, and its owner can add a new write`() {
        var queue = WriteQueue<Int>()
        queue.add(0, of: "slow")
        if let turn = queue.first() { queue.finished(turn, after: .seconds(1)) }
        for owner in ["a", "b", "slow"] {
            for number in 0..<2 { queue.add(number, of: owner) }
        }
        func remove(_ number: Int, of owner: String) -> Int? { queue.remove(of: owner) { $0 == number } }
        for owner in ["a", "slow"] {
            for number in 0..<2 { #expect(remove(number, of: owner) == number) }
            #expect(remove(0, of: owner) == nil)
        }
        #expect(queue.count == 2)
        queue.add(2, of: "a")
        #expect(transaction(&queue) == ["a", "b", "b"])
        queue.add(2, of: "slow")
        #expect(transaction(&queue) == ["slow"])
        #expect(queue.count == 0 && queue.first() == nil)
        // An owner's next write is removed while one of its writes runs.
        for number in 0..<2 { queue.add(number, of: "a") }
        let turn = queue.first()
        #expect(remove(0, of: "a") == nil && remove(1, of: "a") == 1)
        if let turn { queue.finished(turn, after: .zero) }
        queue.add(2, of: "a")
        #expect(transaction(&queue) == ["a"])
    }

    @Test func `a write whose caller is cancelled leaves the queue immediately and is never run`() async throws {
        let pool = try await site.open().database.pool
        let commits = GroupCommit(writer: pool)
        let log = WriteLog()
        let gate = await pool.hold()
        defer { gate.signal() }
        @Sendable func write(_ name: String) async throws {
            try await commits.write(of: name) { _ in log.owners.withLock { $0.append(name) } }
        }
        let leaving = Task { try await write("leaving") }
        while commits.waitingCount < 1 { await Task.yield() }
        let staying = Task { try await write("staying") }
        while commits.waitingCount < 2 { await Task.yield() }
        leaving.cancel()
        await #expect(throws: CancellationError.self) { try await leaving.value }
        let late = Task {
            while !Task.isCancelled { await Task.yield() }
            try await write("late")
        }
        late.cancel()
        await #expect(throws: CancellationError.self) { try await late.value }
        #expect(commits.waitingCount == 1)
        gate.signal()
        try await staying.value
        #expect(log.owners.withLock(\.self) == ["staying"])
    }

    @Test func `S9 a request over the work budget is 413 with its limit, and the account can continue`()
        async throws
    {
        let time = Mutex(Duration.zero)
        let server = try await site.open { configuration in
            configuration.workBudget = WorkBudget(.milliseconds(750)) {
                time.withLock {
                    $0 += .seconds(1)
                    return $0
                }
            }
        }
        let person = try await server.signUp()
        func create(_ count: Int) async throws -> SetAnswer? {
            let calls = stride(from: 0, to: count, by: 5000).map { start -> (String, JSON) in
                let rows = (start..<min(start + 5000, count)).map { (RowKey.id($0), JSON.object(["content": "x"])) }
                return ("todo/set", ["create": .object(JSONObject(rows))])
            }
            return SetAnswer(json: try await server.call(person, calls)[0].arguments)
        }
        let problem = await #expect(throws: RequestProblem.self) { _ = try await create(10_000) }
        #expect(problem?.status == 413 && problem?.limit == "maxWork")
        #expect(try await server.rows(account: person.account, type: "todo").isEmpty)
        #expect(try await create(500)?.created.count == 500)
    }
}

/// The owners of completed writes, and the time they took.
private final class WriteLog: Sendable {
    let owners = Mutex<[String]>([])
    let time = Mutex(Duration.zero)
}
