// This source file is part of the Optimist open source project, under the MIT licence.

/// Exponential backoff with full jitter: the limit doubles after each failure up to a ceiling, and each wait is drawn
/// at random below that limit, so that many devices do not retry at the same moment.
///
/// > Source: Brooker, "Exponential Backoff And Jitter", AWS Architecture Blog, 2015 ("full jitter").
public struct Backoff: Sendable, Equatable {
    /// The longest wait after the first failure. Each further failure doubles it. Default: 500 ms.
    var base: Duration
    /// The longest wait after any failure. Default: 60 s.
    package var ceiling: Duration

    /// Makes a backoff. If `base` is above `ceiling`, every wait is at most `ceiling`.
    ///
    /// - Parameters:
    ///   - base: The longest wait after the first failure. Each further failure doubles it. Default: 500 ms.
    ///   - ceiling: The longest wait after any failure. Default: 60 s.
    public init(base: Duration = .milliseconds(500), ceiling: Duration = .seconds(60)) {
        self.base = base
        self.ceiling = ceiling
    }

    /// Returns the longest wait after a number of consecutive failures.
    ///
    /// - Parameter failures: At least 1; a smaller number is a programming error and traps.
    package func limit(afterFailures failures: Int) -> Duration {
        precondition(failures >= 1, "failures are counted from 1")
        return min(ceiling, base * (1 << min(failures - 1, 20)))
    }

    /// Returns a random wait between zero and ``limit(afterFailures:)``, uniformly distributed.
    ///
    /// - Parameters:
    ///   - failures: The number of consecutive failures, at least 1; a smaller number traps.
    ///   - generator: The source of randomness.
    package func delay(afterFailures failures: Int, using generator: inout some RandomNumberGenerator) -> Duration {
        limit(afterFailures: failures) * Double.random(in: 0...1, using: &generator)
    }
}
