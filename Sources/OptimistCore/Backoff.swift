// This source file is part of the Optimist open source project, under the MIT licence.

/// How long to wait before trying again: doubling, capped, and drawn at random so that
/// a thousand phones leaving a tunnel do not return together.
///
/// > Source: Brooker, "Exponential Backoff And Jitter", AWS Architecture Blog, 2015 ("full jitter").
public struct Backoff: Sendable, Equatable {
    /// The longest wait after the first failure. Each further failure doubles it.
    public var base: Duration
    /// The longest wait after any failure.
    public var ceiling: Duration

    public init(base: Duration = .milliseconds(500), ceiling: Duration = .seconds(60)) {
        self.base = base
        self.ceiling = ceiling
    }

    /// Returns the longest wait after `failures` failures in a row, which count from 1.
    public func limit(afterFailures failures: Int) -> Duration {
        precondition(failures >= 1, "failures are counted from 1")
        return min(ceiling, base * (1 << min(failures - 1, 20)))
    }

    /// Returns a wait between zero and the limit, every length equally likely.
    public func delay(afterFailures failures: Int, using generator: inout some RandomNumberGenerator) -> Duration {
        limit(afterFailures: failures) * Double.random(in: 0...1, using: &generator)
    }
}
