// This source file is part of the Optimist open source project, under the MIT licence.

import GRDB
import Synchronization

/// Records when each state of a query arrives, in wall-clock time, because CPU time does not include waiting.
final class Watch: Sendable {
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

    /// Returns the times from each commit to the state with its change.
    func times(
        _ count: Int, _ write: (@escaping @Sendable (Database) throws -> Void) async throws -> Void
    ) async throws -> [Double] {
        var times: [Double] = []
        for _ in 0..<count {
            try await write { db in
                let mark = self.written.withLock {
                    $0.mark += 1
                    return $0.mark
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
