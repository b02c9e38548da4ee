// This source file is part of the Optimist open source project, under the MIT licence.

import GRDB
import Optimist
@_spi(Internals) import OptimistWire
import Synchronization

/// A first sync of a million rows: its rate, its memory, and its effect on the app's other tables.
struct MillionRows: Benchmark {
    static let name = "million"
    let effort: Effort

    func run(in folder: ScratchFolder, _ report: (Figure) -> Void) async throws {
        let count = effort.rows(1_000_000)
        let server = PreparedServer(received: Todo.inOrder(count).parts(of: RowSync.Limit.pageRows))
        let store = try folder.store(isIndexed: true)
        try await store.write { try $0.execute(sql: "CREATE TABLE note(text TEXT NOT NULL)") }
        let arrivals = Mutex<[ContinuousClock.Instant]>([])
        let notes = store.observe { try Int.fetchOne($0, sql: "SELECT count(*) FROM note") }
        let watching = Task { for await _ in notes { arrivals.withLock { $0.append(.now) } } }
        var quiet: [Double] = []
        for _ in 0..<200 { quiet.append(try await write(to: store)) }
        let quietStates = Self.waits(arrivals.withLock { $0 })
        let writing = Task {
            var times: [Double] = []
            do { while true { times.append(try await write(to: store)) } } catch is CancellationError { return times }
        }
        let before = Memory.forgetPeak()
        arrivals.withLock { $0 = [.now] }
        let seconds = try await effort.gauge.seconds {
            try await syncing(store, with: server) { await server.isDrained() }
        }
        arrivals.withLock { $0.append(.now) }
        writing.cancel()
        watching.cancel()
        await watching.value
        let meanwhile = Samples(try await writing.value)

        let name = "first sync of \(grouped(Double(count))) rows, while the app writes"
        report(Figure(name, .rate(rows: count, Samples([seconds])), target: Thresholds.firstSync))
        if let before, let peak = Memory.peak {
            report(Figure("its memory", .size(bytes: peak - before), target: Thresholds.firstSyncMemory))
        }
        report(
            Figure(
                "a local write meanwhile, by its p99", .time(meanwhile), rival: ("when quiet", .time(Samples(quiet))),
                ratio: meanwhile.p99 / Samples(quiet).p99, target: Thresholds.writeMeanwhile))
        let states = Self.waits(arrivals.withLock { $0 })
        report(
            Figure(
                "states of a live query meanwhile, by their p99", .time(states),
                rival: ("when quiet", .time(quietStates)), ratio: states.p99 / quietStates.p99,
                target: Thresholds.statesMeanwhile))
    }

    /// Includes the intervals at the start and the end.
    private static func waits(_ arrivals: [ContinuousClock.Instant]) -> Samples {
        Samples(zip(arrivals, arrivals.dropFirst()).map { ($1 - $0) / .seconds(1) })
    }

    /// The table is not synced.
    private func write(to store: Store) async throws -> Double {
        let seconds = try await effort.gauge.seconds {
            try await store.write { try $0.execute(sql: "INSERT INTO note VALUES ('Buy the tickets')") }
        }
        try await Task.sleep(for: .milliseconds(10))
        return seconds
    }
}
