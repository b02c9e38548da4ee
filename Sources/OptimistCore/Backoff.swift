// This source file is part of the Optimist open source project, under the MIT licence.

/// How long to wait before trying again: doubling, capped, and drawn at random so that
/// a thousand phones leaving a tunnel do not return together.
///
/// > Source: Brooker, "Exponential Backoff And Jitter", AWS Architecture Blog, 2015 ("full jitter").
public struct Backoff: Sendable, Equatable {
    /// The longest wait after the first failure. Each further failure doubles it. Default: 500 ms.
    var base: Duration
    /// The longest wait after any failure. Default: 60 s.
    package var ceiling: Duration

    /// Makes a backoff. With `base` above `ceiling`, every wait is up to `ceiling`.
    ///
    /// - Parameters:
    ///   - base: The longest wait after the first failure. Each further failure doubles it. Default: 500 ms.
    ///   - ceiling: The longest wait after any failure. Default: 60 s.
    public init(base: Duration = .milliseconds(500), ceiling: Duration = .seconds(60)) {
        self.base = base
        self.ceiling = ceiling
    }

    /// Returns the longest wait after some failures in a row.
    ///
    /// - Parameter failures: How many, from 1 on. A smaller number stops the program.
    package func limit(afterFailures failures: Int) -> Duration {
        precondition(failures >= 1, "failures are counted from 1")
        return min(ceiling, base * (1 << min(failures - 1, 20)))
    }

    /// Returns a wait between zero and ``limit(afterFailures:)``, every length equally likely.
    ///
    /// - Parameters:
    ///   - failures: How many failures in a row, from 1 on. A smaller number stops the program.
    ///   - generator: Draws the wait.
    package func delay(afterFailures failures: Int, using generator: inout some RandomNumberGenerator) -> Duration {
        limit(afterFailures: failures) * Double.random(in: 0...1, using: &generator)
    }
}
