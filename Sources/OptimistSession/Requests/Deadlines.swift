// This source file is part of the Optimist open source project, under the MIT licence.

package import OptimistCore

/// Timers, most of which are cancelled before they fire. One task sleeps for all of them; a timer with an earlier
/// deadline starts another task.
///
/// A task for each timer would cost more than the request it guards, and a cancelled sleep keeps its timer until the
/// time is up.
package final class Deadlines: Sendable {
    private struct Entry {
        let due: Duration
        let action: @Sendable () -> Void
    }

    private struct State {
        var lastID = 0
        var entries: [Int: Entry] = [:]
        /// When a task wakes.
        var alarm: Duration?
    }

    private let dependencies: Dependencies
    private let elapsed: Stopwatch
    private let state = Mutex(State())

    package init(_ dependencies: Dependencies) {
        self.dependencies = dependencies
        elapsed = Stopwatch(dependencies.clock)
    }

    /// Runs `action` after a delay. Returns an id for ``remove(_:)``.
    package func add(after delay: Duration, _ action: @escaping @Sendable () -> Void) -> Int {
        let due = elapsed() + delay
        let (id, isEarliest) = state.withLock { state in
            state.lastID += 1
            state.entries[state.lastID] = Entry(due: due, action: action)
            let isEarliest = state.alarm.map { due < $0 } ?? true
            if isEarliest { state.alarm = due }
            return (state.lastID, isEarliest)
        }
        if isEarliest { wake(at: due) }
        return id
    }

    package func remove(_ id: Int) { state.withLock { _ = $0.entries.removeValue(forKey: id) } }

    private func wake(at due: Duration) {
        let (clock, delay) = (dependencies.clock, due - elapsed())
        _ = dependencies.spawn { [weak self] in
            try? await clock.sleep(for: delay)
            self?.ring(due)
        }
    }

    /// - Parameter alarm: The time at which the task was due to wake. The sleep may have been cancelled.
    private func ring(_ alarm: Duration) {
        let now = elapsed()
        let (over, next) = state.withLock { state in
            let over = state.entries.filter { $0.value.due <= now }
            for id in over.keys { state.entries[id] = nil }
            // A task superseded by an earlier timer still wakes.
            guard state.alarm == alarm else { return (over, nil as Duration?) }
            state.alarm = state.entries.values.map(\.due).min()
            return (over, state.alarm)
        }
        if let next { wake(at: next) }
        for (_, entry) in over.sorted(by: { $0.key < $1.key }) { entry.action() }
    }
}
