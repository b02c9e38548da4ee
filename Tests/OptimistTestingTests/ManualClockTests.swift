// This source file is part of the Optimist open source project, under the MIT licence.

import OptimistTesting
import Testing

@Suite(.timeLimit(.minutes(20)))
struct ManualClockTests {
    @Test func `a task that waits for sleepers resumes when enough tasks sleep`() async throws {
        let clock = ManualClock()
        let sleeping = (1...2).map { seconds in Task { try await clock.sleep(for: .seconds(seconds)) } }
        await clock.sleepers(atLeast: 2)
        #expect(clock.untilNextSleeper == .seconds(1))
        clock.advance(by: .seconds(2))
        for task in sleeping { try await task.value }
        #expect(clock.untilNextSleeper == nil)
    }

    /// - Parameter yields: Without yields the task is usually cancelled before it waits, with many during the wait.
    @Test(arguments: [0, 100])
    func `a task that waits for sleepers resumes when it is cancelled`(yields: Int) async {
        let clock = ManualClock()
        let waiting = Task { await clock.sleepers(atLeast: 1) }
        for _ in 0..<yields { await Task.yield() }
        waiting.cancel()
        await waiting.value
        #expect(clock.untilNextSleeper == nil)
    }
}
