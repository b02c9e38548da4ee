// This source file is part of the Optimist open source project, under the MIT licence.

/// Measures on any clock how long ago it was made.
public struct Stopwatch: Sendable {
    private let elapsed: @Sendable () -> Duration

    public init(_ clock: any Clock<Duration>) { elapsed = Self.start(clock) }

    /// Returns the time since this was made.
    public func callAsFunction() -> Duration { elapsed() }

    private static func start<C: Clock>(_ clock: C) -> @Sendable () -> Duration where C.Duration == Duration {
        let start = clock.now
        return { start.duration(to: clock.now) }
    }
}
