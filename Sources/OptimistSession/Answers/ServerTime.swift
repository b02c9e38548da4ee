// This source file is part of the Optimist open source project, under the MIT licence.

import Foundation
import HTTPTypes
import OptimistCore

/// The time of day by the server's clock (T5). From the first answer on it runs with a clock that cannot be set; before
/// that it is the device's, corrected as it had to be when the kept credentials came.
///
/// Later answers do not change it. A server may have several machines, and one of them a wrong clock: if each answer counted,
/// a token would end and be good again with every answer. One clock that is wrong all the time does no harm, since the lives
/// of tokens are measured by it from their beginning to their end.
final class ServerTime: Sendable {
    private struct Ahead {
        /// By the first answer of this launch.
        var heard: TimeInterval?
        /// By what an earlier launch knew.
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

    /// How far the server's clock is ahead of the device's, as that is set now.
    var ahead: Duration { .seconds(now.timeIntervalSince(wallClock())) }

    /// Takes what was known at an earlier launch, until this one hears of the server.
    func recall(_ ahead: Duration) { aheadOfDevice.withLock { $0.recalled = ahead / .seconds(1) } }

    private var steady: Date { launch + elapsed() / .seconds(1) }

    /// Takes note of the time at which an answer was made. One that a cache has kept tells nothing of now.
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
