// This source file is part of the Optimist open source project, under the MIT licence.

import Foundation

/// A token pair in use: how far it is trusted, and the state of its renewal.
struct TokenLife {
    enum Trust {
        case good
        /// It has expired by the clock. Requests wait for the next token; if the refresh fails, they try this one.
        case presumedExpired
        /// The server refused it. It is no longer sent.
        case refused
    }

    let credentials: Credentials
    let stamp: Stamp
    var trust = Trust.good
    var isRefreshing = false
    /// Whether it came from a refresh and the server has not accepted it yet.
    var isUnproven = false
    /// The time of the refresh that produced it. Nil: it has another source.
    var renewedAt: Date?
    var failures = 0
    /// Consecutive tokens refused right after they were fetched.
    var refusals = 0
    /// Consecutive tokens that the server first accepted, then refused before they expired.
    var earlyEnds = 0
    /// Consecutive requests refused with this token after it had been accepted.
    var contradictions = 0
    /// Whether a wait for the end of the pause is running.
    var isPauseAwaited = false
    /// The interval in which no new pair is requested.
    private(set) var pause: DateInterval?

    var binding: Binding { Binding(accessToken: credentials.accessToken, stamp: stamp) }

    var state: SessionState {
        if isRefreshing { return .refreshing(credentials.account) }
        if let pause { return .degraded(credentials.account, nextRefreshAt: pause.end) }
        return .active(credentials.account)
    }

    mutating func pause(for delay: Duration, from now: Date) {
        pause = DateInterval(start: now, duration: delay / .seconds(1))
    }

    mutating func endPause() { pause = nil }

    /// The rest of the pause, in seconds. Zero if the clock was set back to before the pause began, because the rest is
    /// then unknown.
    func remainingPause(at now: Date) -> TimeInterval {
        guard let pause, now >= pause.start else { return 0 }
        return max(0, pause.end.timeIntervalSince(now))
    }

    /// Whether to fetch the next pair now: 60 seconds before expiry, or a tenth of the token's lifetime if that is
    /// shorter.
    func isDue(at now: Date) -> Bool {
        guard trust == .good else { return true }
        guard let expiresAt = credentials.expiresAt else { return false }
        let tenth = credentials.lifetime.map { $0 / .seconds(10) } ?? 60
        return now >= expiresAt - min(60, tenth)
    }

    func hasExpired(at now: Date) -> Bool { credentials.expiresAt.map { now >= $0 } ?? false }

    /// Whether a refusal at this time is before the token's expiry. A token of unknown lifetime counts as valid for a
    /// minute after its refresh.
    func isEarly(at now: Date) -> Bool {
        if credentials.expiresAt != nil { return !hasExpired(at: now) }
        return remainingFreshness(at: now, of: .seconds(60)) > .zero
    }

    /// How much of `time` is left, counted from the refresh that produced this pair. While some is left, another
    /// refresh is too early.
    func remainingFreshness(at now: Date, of time: Duration) -> Duration {
        guard let renewedAt, renewedAt <= now else { return .zero }
        return max(.zero, time - .seconds(now.timeIntervalSince(renewedAt)))
    }

    /// The next pair. Refusals are remembered until the server accepts a token.
    func succeeded(by credentials: Credentials, at now: Date) -> Self {
        var next = Self(credentials: credentials, stamp: stamp.next)
        next.refusals = refusals
        next.earlyEnds = trust == .refused && isEarly(at: now) ? earlyEnds + (isUnproven ? 0 : 1) : 0
        next.isUnproven = true
        next.renewedAt = now
        return next
    }
}
