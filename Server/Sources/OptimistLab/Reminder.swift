// This source file is part of the Optimist open source project, under the MIT licence.

import Synchronization

/// Reports what a slow start waits for: after ten seconds, and then at each change.
final class Reminder: Sendable {
    private struct State {
        var present: String?
        var isLate = false
        var hasEnded = false
        var alarm: Task<Void, Never>?
    }

    private let tell: @Sendable (String) -> Void
    private let state = Mutex(State())

    private static let delay = Duration.seconds(10)

    /// - Parameter clock: Measures the ten seconds.
    init(clock: any Clock<Duration> = ContinuousClock(), _ tell: @escaping @Sendable (String) -> Void) {
        self.tell = tell
        let alarm = Task { [weak self] in
            do { try await clock.sleep(for: Self.delay) } catch { return }
            self?.ring()
        }
        state.withLock { $0.alarm = alarm }
    }

    deinit { state.withLock { $0.alarm }?.cancel() }

    func waits(for what: String) {
        let isNews = state.withLock { state in
            defer { state.present = what }
            return state.isLate && !state.hasEnded && state.present != what
        }
        if isNews { tell(what) }
    }

    /// Ends the reports.
    func end() {
        let alarm = state.withLock { state in
            state.hasEnded = true
            return state.alarm
        }
        alarm?.cancel()
    }

    private func ring() {
        let present = state.withLock { state in
            state.isLate = true
            return state.hasEnded ? nil : state.present
        }
        if let present { tell(present) }
    }
}
