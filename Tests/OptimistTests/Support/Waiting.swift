// This source file is part of the Optimist open source project, under the MIT licence.

import OptimistTesting
import Testing

@testable import Optimist

extension AsyncSequence where Failure == Never {
    /// Waits for an element that satisfies a condition. A sequence that ends before that is an issue.
    func reach(
        sourceLocation: SourceLocation = #_sourceLocation, _ condition: (Element) async throws -> Bool
    ) async throws {
        for await element in self where try await condition(element) { return }
        Issue.record("the sequence ended before the element came", sourceLocation: sourceLocation)
    }
}

extension ManualClock {
    /// Lets time pass until something holds: by one step, or to the next sleeper, whenever a task sleeps. A step lasts
    /// long enough for the tasks that woke to have their turns, on one core too. It ends when its task is cancelled, too.
    ///
    /// - Parameter engine: Time stands still while the engine knows of a push or pull under way, so that none is given up
    ///   because the machine is slow. Nil: time passes in any case.
    func pass(
        _ step: Duration? = nil, for engine: SyncEngine?, until holds: () async throws -> Bool
    ) async rethrows {
        while !Task.isCancelled, try await !holds() {
            for _ in 0..<50 { await Task.yield() }
            if await engine?.isSettled == false { continue }
            if let next = untilNextSleeper { advance(by: step ?? next) }
        }
    }
}
