// This source file is part of the Optimist open source project, under the MIT licence.

/// Decides whether to trust the server's clock, based on the highest time in the data and the time elapsed since the
/// clock was last trusted. All times are seconds since 1970.
struct TimeTrust: Sendable {
    /// A larger leap is logged.
    static let quiet = 60.0
    /// After a larger leap, the clock is not trusted. One day.
    static let most = 86_400.0

    enum News: Hashable, Sendable {
        /// By this many seconds. The clock is still trusted.
        case leapt(Double)
        /// By this many seconds. The clock is no longer trusted.
        case held(Double)
        case back
    }

    /// The clock's time and the process's run time when the clock was last trusted.
    private var anchor: (time: Double, elapsed: Double)
    private(set) var isHeld = false

    /// - Parameters:
    ///   - highest: The highest time in the data. Nil means that the clock is trusted: the data has no such time, or an
    ///     operator has confirmed the clock.
    ///   - now: The time of day.
    ///   - elapsed: How long the process has run, by a monotonic clock.
    init(highest: Double?, now: Double, elapsed: Double) { anchor = (highest ?? now, elapsed) }

    /// - Returns: The change since the last check, or nil.
    mutating func look(at now: Double, elapsed: Double) -> News? {
        let leap = now - expected(at: elapsed)
        let wasHeld = isHeld
        isHeld = abs(leap) > Self.most
        if isHeld { return wasHeld ? nil : .held(leap) }
        anchor = (now, elapsed)
        return wasHeld ? .back : abs(leap) > Self.quiet ? .leapt(leap) : nil
    }

    /// Returns the clock's time or, if the clock is not trusted, the time that it would show without its leap.
    mutating func time(at now: Double, elapsed: Double) -> (time: Double, news: News?) {
        let news = look(at: now, elapsed: elapsed)
        return (isHeld ? expected(at: elapsed) : now, news)
    }

    private func expected(at elapsed: Double) -> Double { anchor.time + elapsed - anchor.elapsed }
}
