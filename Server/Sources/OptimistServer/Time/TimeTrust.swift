// This source file is part of the Optimist open source project, under the MIT licence.

/// Decides whether the server's time of day is believed: by the highest time that the data has seen, and by the time that
/// has passed since the clock was last believed. All times are seconds since 1970.
struct TimeTrust: Sendable {
    /// A leap beyond this many seconds is told.
    static let quiet = 60.0
    /// A leap beyond this many seconds, a day, is not believed.
    static let most = 86_400.0

    /// What there is to say about the clock.
    enum News: Hashable, Sendable {
        /// It leapt by so many seconds, and is believed.
        case leapt(Double)
        /// It leapt by so many seconds, and is not believed.
        case held(Double)
        /// It is back where it was believed to be.
        case back
    }

    /// When the clock was last believed: by that clock, and by how long the process had run.
    private var anchor: (time: Double, elapsed: Double)
    /// Whether the clock is not believed.
    private(set) var isHeld = false

    /// - Parameters:
    ///   - highest: The highest time that the data has seen. Nil: none, or an operator agrees to the present one. The clock
    ///     is believed then.
    ///   - now: The time of day.
    ///   - elapsed: How long the process has run, by a clock that does not leap.
    init(highest: Double?, now: Double, elapsed: Double) { anchor = (highest ?? now, elapsed) }

    /// Looks at the clock.
    ///
    /// - Returns: The news since the last look. Nil: there is none.
    mutating func look(at now: Double, elapsed: Double) -> News? {
        let leap = now - expected(at: elapsed)
        let wasHeld = isHeld
        isHeld = abs(leap) > Self.most
        if isHeld { return wasHeld ? nil : .held(leap) }
        anchor = (now, elapsed)
        return wasHeld ? .back : abs(leap) > Self.quiet ? .leapt(leap) : nil
    }

    /// The time as far as it is believed: the clock's, or the one that it would show without its leap.
    mutating func time(at now: Double, elapsed: Double) -> (time: Double, news: News?) {
        let news = look(at: now, elapsed: elapsed)
        return (isHeld ? expected(at: elapsed) : now, news)
    }

    private func expected(at elapsed: Double) -> Double { anchor.time + elapsed - anchor.elapsed }
}
