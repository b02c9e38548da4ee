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

    /// Returns the elapsed time. Nil: the device's time of day was set meanwhile, or the device slept, so the two
    /// clocks differ by more than a second. The answer then says nothing about the device's time of day.
    func callAsFunction() -> Duration? {
        let elapsed = elapsed()
        let byTimeOfDay = dependencies.now().timeIntervalSince(start)
        return abs(byTimeOfDay - elapsed / .seconds(1)) > 1 ? nil : elapsed
    }
}
