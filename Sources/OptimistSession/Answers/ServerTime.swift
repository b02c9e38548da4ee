// This source file is part of the Optimist open source project, under the MIT licence.

import Foundation
import HTTPTypes
import OptimistCore

/// The time of day by the server's clock, as far as its answers tell (T5). Between answers it runs with a clock that
/// cannot be set; before the first it is the device's, corrected as it had to be when the kept credentials came.
final class ServerTime: Sendable {
    private struct Heard {
        var date: String?
        /// Nil: nothing is known yet.
        var ahead: TimeInterval?
    }

    private let wallClock: @Sendable () -> Date
    private let launch: Date
    private let elapsed: Stopwatch
    private let heard = Mutex(Heard())

    init(_ surroundings: Surroundings) {
        wallClock = surroundings.now
        launch = surroundings.now()
        elapsed = Stopwatch(surroundings.clock)
    }

    var now: Date { steady + (heard.withLock { $0.ahead } ?? 0) }

    /// How far the server's clock is ahead of the device's, as that is set now.
    var ahead: Duration { .seconds(now.timeIntervalSince(wallClock())) }

    /// Takes what was known at an earlier launch, unless this one has heard of the server already.
    func recall(_ ahead: Duration) {
        heard.withLock { $0.ahead = $0.ahead ?? ahead / .seconds(1) }
    }

    private var steady: Date { launch + elapsed() / .seconds(1) }

    /// Takes note of the time at which an answer was made. One that a cache has kept tells nothing of now.
    ///
    /// > Source: RFC 9110, section 6.6.1, `Date`; RFC 9111, section 5.1, `Age`.
    func hear(_ head: HTTPResponse) {
        guard let date = head.headerFields[.date], head.headerFields[.age] == nil else { return }
        // Most answers are of the second of the one before.
        let isNews = heard.withLock { heard in
            defer { heard.date = date }
            return heard.date != date
        }
        guard isNews, let time = HTTPDate.parse(date) else { return }
        let ahead = time.timeIntervalSince(steady)
        heard.withLock { $0.ahead = ahead }
    }
}
