// This source file is part of the Optimist open source project, under the MIT licence.

import Foundation
import OptimistCore

/// Measures how long a request takes, from the creation of this value.
struct RoundTrip: Sendable {
    private let elapsed: Stopwatch
    private let surroundings: Surroundings
    private let start: Date

    init(_ surroundings: Surroundings) {
        elapsed = Stopwatch(surroundings.clock)
        self.surroundings = surroundings
        start = surroundings.now()
    }

    /// Returns the elapsed time. Nil: the device's time of day was set meanwhile, or the device slept, so the two
    /// clocks differ by more than a second. The answer then says nothing about the device's time of day.
    func callAsFunction() -> Duration? {
        let elapsed = elapsed()
        let byTimeOfDay = surroundings.now().timeIntervalSince(start)
        return abs(byTimeOfDay - elapsed / .seconds(1)) > 1 ? nil : elapsed
    }
}
