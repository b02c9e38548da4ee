// This source file is part of the Optimist open source project, under the MIT licence.

import OptimistTesting
import Testing

@testable import Optimist
@testable import OptimistCore

@Suite(.timeLimit(.minutes(20)))
struct SharedWorkTests {
    /// Work that takes a second on a manual clock and returns the number of its run.
    private final class Bench: Sendable {
        let clock = ManualClock()
        private let work = SharedWork<Int>()
        private let counts = Mutex((runs: 0, cancelled: 0))

        var runs: Int { counts.withLock { $0.runs } }
        var cancelled: Int { counts.withLock { $0.cancelled } }

        func join() -> Task<Int, any Error> {
            Task {
                try await work.value({ operation in Task { await operation() } }) {
                    let run = self.counts.withLock { counts in
                        counts.runs += 1
                        return counts.runs
                    }
                    do { try await self.clock.sleep(for: .seconds(1)) } catch {
                        self.counts.withLock { $0.cancelled += 1 }
                        throw error
                    }
                    return run
                }
            }
        }

        /// Waits until `count` tasks have joined the run.
        func untilJoined(by count: Int) async { while work.waitingCount < count { await Task.yield() } }
    }

    @Test func `shared work runs once for all waiting callers, and the next caller starts it again`() async throws {
        let bench = Bench()
        let tasks = (0..<5).map { _ in bench.join() }
        await bench.clock.sleepers(atLeast: 1)
        await bench.untilJoined(by: 5)
        bench.clock.advance(by: .seconds(1))
        for task in tasks { #expect(try await task.value == 1) }
        let later = bench.join()
        await bench.clock.sleepers(atLeast: 1)
        bench.clock.advance(by: .seconds(1))
        #expect(try await later.value == 2)
    }

    @Test func `shared work continues when one caller leaves, and is cancelled when all have left`() async throws {
        let bench = Bench()
        let (first, second) = (bench.join(), bench.join())
        await bench.clock.sleepers(atLeast: 1)
        await bench.untilJoined(by: 2)
        first.cancel()
        await #expect(throws: CancellationError.self) { try await first.value }
        #expect(bench.cancelled == 0)
        second.cancel()
        await #expect(throws: CancellationError.self) { try await second.value }
        while bench.cancelled == 0 { await Task.yield() }
        let third = bench.join()
        await bench.clock.sleepers(atLeast: 1)
        bench.clock.advance(by: .seconds(1))
        #expect(try await third.value == 2)
        #expect(bench.runs == 2)
    }
}
