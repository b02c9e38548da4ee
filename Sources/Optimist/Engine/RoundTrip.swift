// This source file is part of the Optimist open source project, under the MIT licence.

import Foundation
import OptimistCore

/// Measures how long a request takes, from the creation of this value.
struct RoundTrip: Sendable {
    private let elapsed: Stopwatch
    private let dependencies: Dependencies
    private let start: Date

    init(_ dependencies: Dependencies) {
        elapsed = Stopwatch(dependencies.clock)
        self.dependencies = dependencies
        start = dependencies.now()
    }

    /// Nil if the monotonic clock and the time of day differ by more than a second, because the time was set or the
    /// device slept. The answer then cannot correct the device's clock.
    func callAsFunction() -> Duration? {
        let elapsed = elapsed()
        let byTimeOfDay = dependencies.now().timeIntervalSince(start)
        return abs(byTimeOfDay - elapsed / .seconds(1)) > 1 ? nil : elapsed
    }
}
