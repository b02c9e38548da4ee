// This source file is part of the Optimist open source project, under the MIT licence.

import OptimistTesting
import Testing

@testable import Optimist

extension AsyncSequence where Failure == Never {
    /// Waits for an element that satisfies a condition. Records an issue if the sequence ends before that.
    func reach(
        sourceLocation: SourceLocation = #_sourceLocation, _ condition: (Element) async throws -> Bool
    ) async throws {
        for await element in self where try await condition(element) { return }
        Issue.record("the sequence ended before the element came", sourceLocation: sourceLocation)
    }
}

extension ManualClock {
    /// Advances the clock until a condition holds: by one step, or to the next sleeper, whenever a task sleeps. Before
    /// each advance, tasks that woke up can run. Also ends when its task is cancelled.
    ///
    /// - Parameter engine: The clock stops while this engine has a push or pull under way, so that a slow machine does
    ///   not cause a timeout. Nil: the clock always advances.
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
