// This source file is part of the Optimist open source project, under the MIT licence.

import ArgumentParser
import Foundation

/// The kind of time that is measured.
enum Gauge: String, CaseIterable, ExpressibleByArgument {
    /// Wall-clock time, for an idle machine.
    case wall
    /// The process's CPU time, for a machine that is not idle. It does not include waiting for a disk.
    case cpu

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
