// This source file is part of the Optimist open source project, under the MIT licence.

package import Foundation
package import HTTPTypes
import OptimistCore

/// Decides whether a failed attempt is followed by another, and when. One for all requests to a host, so that retries
/// do not multiply an outage (T7).
///
/// > Source: gRFC A6, "Retry Throttling": ten tokens, one less for each failure, a tenth more for each success,
/// > retries only above half.
struct Patience {
    private var tokens = 10.0
    private let backoff: Backoff
    private var randomness: SplitMix64

    init(backoff: Backoff, randomness: SplitMix64) {
        self.backoff = backoff
        self.randomness = randomness
    }

    mutating func succeeded() { tokens = min(10, tokens + 0.1) }

    /// Books a failure that another attempt may follow. One that none can follow costs the host nothing more, and is not
    /// booked.
    ///
    /// - Parameters:
    ///   - failures: How many attempts of this request have failed, this one included.
    ///   - retryAfter: What the server asked for. Longer than the backoff's ceiling is left to the caller.
    ///   - remaining: The rest of the request's time. Nil: it has no end.
    /// - Returns: How long to wait before the next attempt, or nil when there should be none.
    mutating func failed(
        _ failures: Int, retryAfter: Duration? = nil, within remaining: Duration?
    ) -> Duration? {
        let demanded = retryAfter ?? .zero
        let delay = max(demanded, backoff.delay(afterFailures: failures, using: &randomness))
        guard demanded <= backoff.ceiling, remaining.map({ delay < $0 }) ?? true else { return nil }
        tokens = max(0, tokens - 1)
        return tokens > 5 ? delay : nil
    }

    /// - Parameter times: How often in a row a request has reached no server.
    /// - Returns: How long to wait before it is tried again. Nothing was sent, so the budget of the host is as before.
    mutating func failedToReach(_ times: Int) -> Duration { backoff.delay(afterFailures: times, using: &randomness) }
}

extension TransportError {
    /// Whether the same request would fail in the same way again.
    package var isLasting: Bool { [.tooLarge, .unsupported, .untrusted, .alreadyRead].contains(kind) }

    /// Whether no network or no server was there, so that nothing was sent.
    var hasReachedNobody: Bool { phase == .notSent && !isLasting }
}

extension HTTPResponse {
    /// Whether the same request may well succeed later.
    package var isTemporaryFailure: Bool { [408, 425, 429, 500, 502, 503, 504].contains(status.code) }

    /// How long the server asks to be left alone: at most an hour, since what it says may be wrong.
    ///
    /// A date counts by the clock of the answer itself: a server may have several machines, whose clocks differ.
    ///
    /// - Parameter now: The time if the answer has no date.
    package func retryAfter(now: Date) -> Duration? {
        let date = headerFields[.age] == nil ? headerFields[.date].flatMap { HTTPDate.parse($0) } : nil
        let seconds = headerFields[.retryAfter].flatMap { RetryAfter.seconds($0, since: date ?? now) }
        return seconds.map { .seconds(min(max($0, 0), 3600)) }
    }
}
