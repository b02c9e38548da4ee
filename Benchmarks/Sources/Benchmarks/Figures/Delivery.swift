// This source file is part of the Optimist open source project, under the MIT licence.

import GRDB
import Optimist
import Synchronization

/// From the start of a commit to the new state of a query of 100 rows in the hands of the one who watches it.
struct Delivery: Benchmark {
    static let name = "delivery"
    let effort: Effort

    func run(in folder: ScratchFolder, _ report: (Figure) -> Void) async throws {
        let todos = Todo.make(100)
        let (store, plain) = (try folder.store(), try folder.plain())
        try await store.write { try todos.insert($0) }
        try await plain.write { try todos.insert($0) }
        let ours = Watch(store.observe { try Todo.order(Column("id")).fetchAll($0) })
        let theirs = Watch(ValueObservation.tracking { try Todo.order(Column("id")).fetchAll($0) }.values(in: plain))
        let writes = effort.rows(100)
        let pair = try await Paired(
            rounds: effort.rounds(30),
            subject: {
                try await ours.times(writes) { change in try await store.write(change) }
            },
            rival: {
                try await theirs.times(writes) { change in try await plain.write(change) }
            })
        report(
            Figure("commit to live query, 100 rows", pair, rival: "ValueObservation", target: Thresholds.delivery))
    }
}

/// Notes when each state of a query arrives. Time passes here: a gauge of processors would not see the waiting.
private final class Watch: Sendable {
    private typealias Arrival = (mark: Int, at: ContinuousClock.Instant)

    private let arrivals: AsyncStream<Arrival>
    private let watcher: Task<Void, any Error>
    private let written = Mutex((mark: 1000, at: ContinuousClock.now))

    init<States: AsyncSequence & Sendable>(_ states: States) where States.Element == [Todo] {
        let (arrivals, arrive) = AsyncStream<Arrival>.makeStream()
        self.arrivals = arrivals
        watcher = Task { for try await todos in states { arrive.yield((todos[0].priority, .now)) } }
    }

    deinit { watcher.cancel() }

    /// Changes one row at a time and waits for the state that has it. The time begins with the commit.
    func times(
        _ count: Int, _ write: (@escaping @Sendable (Database) throws -> Void) async throws -> Void
    ) async throws -> [Double] {
        var times: [Double] = []
        for _ in 0..<count {
            try await write { db in
                let mark = self.written.withLock {
                    $0.mark += 1; return $0.mark
                }
                try db.execute(
                    sql: "UPDATE todo SET priority = ? WHERE id = (SELECT min(id) FROM todo)", arguments: [mark])
                self.written.withLock { $0.at = .now }
            }
            let written = written.withLock { $0 }
            for await arrival in arrivals where arrival.mark == written.mark {
                times.append((arrival.at - written.at) / .seconds(1))
                break
            }
        }
        return times
    }
}
