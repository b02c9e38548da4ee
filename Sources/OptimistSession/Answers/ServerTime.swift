// This source file is part of the Optimist open source project, under the MIT licence.

import Foundation
import HTTPTypes
import OptimistCore

/// The server's time of day. The first answer of a launch sets it. Afterwards it advances with a clock that cannot be
/// changed. Before the first answer, it is the device's time plus the offset stored with the credentials.
///
/// Later answers do not change it. A server may run on several machines, and the clock of one may be wrong. If every
/// answer counted, a token would alternate between expired and valid. A constant error is harmless, because the same
/// clock measures a token's start and end.
final class ServerTime: Sendable {
    private struct Ahead {
        /// From the first answer of this launch.
        var heard: TimeInterval?
        /// From an earlier launch.
        var recalled: TimeInterval?
    }

    private let wallClock: @Sendable () -> Date
    private let launch: Date
    private let elapsed: Stopwatch
    private let aheadOfDevice = Mutex(Ahead())

    init(_ dependencies: Dependencies) {
        wallClock = dependencies.now
        launch = dependencies.now()
        elapsed = Stopwatch(dependencies.clock)
    }

    var now: Date { steady + aheadOfDevice.withLock { $0.heard ?? $0.recalled ?? 0 } }

    /// The offset of the server's clock from the device's current clock.
    var ahead: Duration { .seconds(now.timeIntervalSince(wallClock())) }

    /// Uses the offset of an earlier launch until the first answer of this one.
    func recall(_ ahead: Duration) { aheadOfDevice.withLock { $0.recalled = ahead / .seconds(1) } }

    private var steady: Date { launch + elapsed() / .seconds(1) }

    /// Takes the time from an answer. A cached answer is ignored.
    ///
    /// > Source: RFC 9110, section 6.6.1, `Date`; RFC 9111, section 5.1, `Age`.
    func hear(_ head: HTTPResponse) {
        guard aheadOfDevice.withLock({ $0.heard == nil }), let date = head.headerFields[.date],
            head.headerFields[.age] == nil, let time = HTTPDate.parse(date)
        else { return }
        let ahead = time.timeIntervalSince(steady)
        aheadOfDevice.withLock { $0.heard = $0.heard ?? ahead }
    }
}
