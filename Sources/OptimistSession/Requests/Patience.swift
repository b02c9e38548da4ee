// This source file is part of the Optimist open source project, under the MIT licence.

package import Foundation
package import HTTPTypes
import OptimistCore

/// Decides whether and when to retry a failed attempt. All requests to a host share one budget, so that retries do not
/// make an outage worse.
///
/// > Source: gRFC A6, "Retry Throttling": of ten tokens, a failure takes one and a success returns a tenth; retries
/// > need more than half.
struct Patience {
    private var tokens = 10.0
    private let backoff: Backoff
    private var randomness: SplitMix64

    init(backoff: Backoff, randomness: SplitMix64) {
        self.backoff = backoff
        self.randomness = randomness
    }

    mutating func succeeded() { tokens = min(10, tokens + 0.1) }

    /// Records a failure and returns the delay before the next attempt, or nil if there is none. A failure that cannot
    /// be retried does not burden the host again, so it does not count.
    ///
    /// - Parameters:
    ///   - failures: The number of failed attempts of this request, including this one.
    ///   - retryAfter: The server's requested delay. If it exceeds the backoff's ceiling, the caller gets the answer
    ///     instead.
    ///   - remaining: The request's remaining time. Nil: no deadline.
    mutating func failed(
        _ failures: Int, retryAfter: Duration? = nil, within remaining: Duration?
    ) -> Duration? {
        let demanded = retryAfter ?? .zero
        let delay = max(demanded, backoff.delay(afterFailures: failures, using: &randomness))
        guard demanded <= backoff.ceiling, remaining.map({ delay < $0 }) ?? true else { return nil }
        tokens = max(0, tokens - 1)
        return tokens > 5 ? delay : nil
    }

    /// Returns the delay before retrying a request that reached no server. Nothing was sent, so the host's budget is
    /// unchanged.
    ///
    /// - Parameter times: The number of consecutive attempts that reached no server.
    mutating func failedToReach(_ times: Int) -> Duration { backoff.delay(afterFailures: times, using: &randomness) }
}

extension TransportError {
    /// Whether a retry would fail in the same way.
    package var isLasting: Bool { [.tooLarge, .unsupported, .untrusted, .alreadyRead].contains(kind) }

    /// Whether no server was reached, so that nothing was sent.
    var hasReachedNobody: Bool { phase == .notSent && !isLasting }
}

extension HTTPResponse {
    /// Whether the same request may succeed later.
    package var isTemporaryFailure: Bool { [408, 425, 429, 500, 502, 503, 504].contains(status.code) }

    /// The delay that the server requests, capped at an hour in case it is wrong.
    ///
    /// A date is compared with the answer's own date, because a server's machines may have different clocks.
    ///
    /// - Parameter now: The time to use if the answer has no date.
    package func retryAfter(now: Date) -> Duration? {
        let date = headerFields[.age] == nil ? headerFields[.date].flatMap { HTTPDate.parse($0) } : nil
        let seconds = headerFields[.retryAfter].flatMap { RetryAfter.seconds($0, since: date ?? now) }
        return seconds.map { .seconds(min(max($0, 0), 3600)) }
    }
}
