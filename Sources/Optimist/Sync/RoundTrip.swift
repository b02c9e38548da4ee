// This source file is part of the Optimist open source project, under the MIT licence.

import Foundation
import OptimistCore

/// How long a request takes, from when this is made.
struct RoundTrip: Sendable {
    private let elapsed: Stopwatch
    private let surroundings: Surroundings
    private let start: Date

    init(_ surroundings: Surroundings) {
        elapsed = Stopwatch(surroundings.clock)
        self.surroundings = surroundings
        start = surroundings.now()
    }

    /// Returns the time up to now. Nil: the device's time of day was set meanwhile, or the device slept, so that the two clocks
    /// differ by more than a second. An answer tells nothing of that time of day then.
    func callAsFunction() -> Duration? {
        let elapsed = elapsed()
        let byTimeOfDay = surroundings.now().timeIntervalSince(start)
        return abs(byTimeOfDay - elapsed / .seconds(1)) > 1 ? nil : elapsed
    }
}
