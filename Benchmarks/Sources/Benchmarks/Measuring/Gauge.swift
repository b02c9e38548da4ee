// This source file is part of the Optimist open source project, under the MIT licence.

import ArgumentParser
import Foundation

/// The counters that are read before and after a piece of work.
enum Gauge: String, CaseIterable, ExpressibleByArgument {
    /// The time that passes. What people feel, if the machine has nothing else to do.
    case wall
    /// The time of all processors that the process takes. For a machine that others use too; it sees no waiting for a disk.
    case cpu

    /// Returns how long some work takes, in seconds.
    func seconds(_ work: () async throws -> Void) async rethrows -> Double {
        let start = now
        try await work()
        return now - start
    }

    private var now: Double {
        var time = timespec()
        clock_gettime(self == .wall ? CLOCK_MONOTONIC : CLOCK_PROCESS_CPUTIME_ID, &time)
        return Double(time.tv_sec) + Double(time.tv_nsec) * 1e-9
    }
}
