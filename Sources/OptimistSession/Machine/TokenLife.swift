// This source file is part of the Optimist open source project, under the MIT licence.

import Foundation

/// One token pair in use: how far it is trusted, and what is being done to replace it.
struct TokenLife {
    enum Trust {
        /// Requests carry it.
        case good
        /// It should have ended by now. Requests wait for the next one, but if there is none it is tried.
        case presumedExpired
        /// The server refused it. No request carries it from now on.
        case refused
    }

    let credentials: Credentials
    let stamp: Stamp
    var trust = Trust.good
    var isRefreshing = false
    /// Whether it came from a refresh and the server has accepted it for nothing yet.
    var isUnproven = false
    /// When it came from a refresh. Nil: from somewhere else.
    var renewedAt: Date?
    /// Refreshes in a row that brought nothing.
    var failures = 0
    /// Tokens in a row that were refused as soon as they were fetched.
    var refusals = 0
    /// Tokens in a row that the server had accepted and then refused before their end.
    var earlyEnds = 0
    /// How many requests in a row the server has refused with this token, although it had accepted it.
    var contradictions = 0
    /// Whether a request is told when the pause ends.
    var isPauseAwaited = false
    /// No new pair is asked for meanwhile.
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

    /// How long no new pair is asked for yet, in seconds. A clock that was set back to before the pause began tells nothing of
    /// how much of it is left: then it is over.
    func remainingPause(at now: Date) -> TimeInterval {
        guard let pause, now >= pause.start else { return 0 }
        return max(0, pause.end.timeIntervalSince(now))
    }

    /// Whether the next pair should be fetched now: 60 seconds ahead of the end, or a tenth of the token's life (T5).
    func isDue(at now: Date) -> Bool {
        guard trust == .good else { return true }
        guard let expiresAt = credentials.expiresAt else { return false }
        let tenth = credentials.lifetime.map { $0 / .seconds(10) } ?? 60
        return now >= expiresAt - min(60, tenth)
    }

    func hasExpired(at now: Date) -> Bool { credentials.expiresAt.map { now >= $0 } ?? false }

    /// Whether a refusal comes before the token's end. If the server did not say how long a token lives, it lives a minute at
    /// least.
    func isEarly(at now: Date) -> Bool {
        if credentials.expiresAt != nil { return !hasExpired(at: now) }
        return remainingFreshness(at: now, of: .seconds(60)) > .zero
    }

    /// How long it is still too early for another refresh, since this pair came from one less than that ago.
    func remainingFreshness(at now: Date, of time: Duration) -> Duration {
        guard let renewedAt, renewedAt <= now else { return .zero }
        return max(.zero, time - .seconds(now.timeIntervalSince(renewedAt)))
    }

    /// The pair that follows. Refusals are remembered until the server accepts a token.
    func succeeded(by credentials: Credentials, at now: Date) -> Self {
        var next = Self(credentials: credentials, stamp: stamp.next)
        next.refusals = refusals
        next.earlyEnds = trust == .refused && isEarly(at: now) ? earlyEnds + (isUnproven ? 0 : 1) : 0
        next.isUnproven = true
        next.renewedAt = now
        return next
    }
}
