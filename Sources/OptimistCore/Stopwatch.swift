// This source file is part of the Optimist open source project, under the MIT licence.

/// Measures the time since it was created, on any clock. Use it from any thread.
public struct Stopwatch: Sendable {
    private let elapsed: @Sendable () -> Duration

    /// Starts measuring on `clock`.
    public init(_ clock: any Clock<Duration>) { elapsed = Self.start(clock) }

    /// Returns the time since it was created.
    public func callAsFunction() -> Duration { elapsed() }

    private static func start<C: Clock>(_ clock: C) -> @Sendable () -> Duration where C.Duration == Duration {
        let start = clock.now
        return { start.duration(to: clock.now) }
    }
}
