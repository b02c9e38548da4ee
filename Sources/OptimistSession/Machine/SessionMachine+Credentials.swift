// This source file is part of the Optimist open source project, under the MIT licence.

import Foundation
import OptimistCore

/// The lifecycle of the credentials.
extension SessionMachine {
    mutating func restore() -> [Effect] {
        switch phase {
        case .restoring(begun: false), .locked:
            phase = .restoring(begun: true)
            return [.run(.restore)]
        case .restoring, .signedOut, .signedIn:
            return []
        }
    }

    mutating func restored(_ credentials: Credentials?, now: Date) -> [Effect] {
        guard case .restoring = phase else { return [] }
        guard let credentials else { return restoreFailed(.neverSignedIn) }
        phase = .signedIn(TokenLife(credentials: credentials, stamp: Stamp(epoch: epoch, generation: 1)))
        return isAnyoneQueued ? renewIfDue(now: now) + pump() : []
    }

    mutating func restoreFailed(_ reason: SignOutReason) -> [Effect] {
        guard case .restoring = phase else { return [] }
        phase = .signedOut(reason)
        return failAll(.signedOut(reason))
    }

    mutating func locked() -> [Effect] {
        guard case .restoring = phase else { return [] }
        phase = .locked
        return failAll(.locked)
    }

    mutating func signedIn(_ epoch: Int, _ credentials: Credentials) -> [Effect] {
        guard epoch > self.epoch else { return [] }
        // If the app adopts the current tokens again, they must not be revoked.
        let isSame = isPresent(credentials.refreshToken)
        let revocation = isSame ? [] : self.revocation
        self.epoch = epoch
        phase = .signedIn(TokenLife(credentials: credentials, stamp: Stamp(epoch: epoch, generation: 1)))
        return failAll(.signedOut(.replaced)) + [.cancelRefresh] + revocation
    }

    /// Ends the session at the user's request. A sign-in in progress is superseded. The caller erases the credentials
    /// and reports a failure to do so.
    mutating func signedOut() -> [Effect] {
        let revocation = self.revocation
        epoch = reserveEpoch()
        return end(.signedOut) + revocation
    }

    /// Ends the session. Has no effect if it has already ended.
    private mutating func end(_ reason: SignOutReason) -> [Effect] {
        if case .signedOut = phase { return [] }
        phase = .signedOut(reason)
        return failAll(.signedOut(reason)) + [.cancelRefresh]
    }

    private func isPresent(_ refreshToken: Secret) -> Bool {
        guard case .signedIn(let life) = phase else { return false }
        return life.credentials.refreshToken == refreshToken
    }

    private var revocation: [Effect] {
        guard case .signedIn(let life) = phase else { return [] }
        return [.run(.revoke(life.credentials))]
    }

    /// The server ended a session. This does not start a new epoch, so a sign-in in progress still counts: that sign-in
    /// may be why the session ended.
    mutating func ended(_ stamp: Stamp, _ reason: SignOutReason) -> [Effect] {
        guard case .signedIn(let life) = phase, stamp.epoch == epoch else { return [] }
        return end(reason) + [.run(.erase(life.credentials, upTo: epoch))]
    }

    mutating func accepted(_ stamp: Stamp) -> [Effect] {
        guard case .signedIn(var life) = phase, life.stamp == stamp else { return [] }
        guard life.isUnproven || life.refusals > 0 || life.contradictions > 0 else { return [] }
        life.isUnproven = false
        life.refusals = 0
        life.contradictions = 0
        if life.failures == 0 { life.endPause() }
        phase = .signedIn(life)
        return []
    }

    mutating func refreshed(_ stamp: Stamp, _ credentials: Credentials, now: Date) -> [Effect] {
        guard case .signedIn(let life) = phase, life.stamp == stamp else { return [] }
        phase = .signedIn(life.succeeded(by: credentials, at: now))
        return pump()
    }

    /// Records a refused token, and requests the next one if a refresh is due and none is running.
    mutating func reconsiderToken(for id: RequestID, refused: Stamp?, now: Date) -> [Effect] {
        guard case .signedIn(var life) = phase else { return [] }
        if refused == life.stamp, !life.isRefreshing {
            defer { phase = .signedIn(life) }
            if isContradiction(&life, now: now) { return [] }
            let isPaused = life.remainingPause(at: now) > 0
            if life.isUnproven, !life.hasExpired(at: now), life.pause == nil || isPaused {
                doubt(&life, now: now)
                return fail(id, .refused)
            }
            let rest = life.remainingFreshness(at: now, of: leastPause)
            if rest > .zero {
                // The token may still work for other requests, so only a background request, which can wait, stops its
                // use.
                guard requests[id]?.urgency == .background else { return fail(id, .postponed(rest)) }
                life.pause(for: max(rest, .seconds(life.remainingPause(at: now))), from: now)
            }
            life.trust = .refused
        }
        return renewIfDue(now: now)
    }

    /// Whether one of the server's machines or endpoints refuses a token that others accept. This is assumed if the
    /// preceding tokens also ended early. The request is then sent again with the same token. If the next request is
    /// also refused, and no request was accepted in between, the token has really ended.
    private func isContradiction(_ life: inout TokenLife, now: Date) -> Bool {
        guard life.trust == .good, life.earlyEnds > 0, !life.isUnproven, life.isEarly(at: now) else { return false }
        let longerPause = backoff.limit(afterFailures: 2 + life.earlyEnds)
        guard life.remainingFreshness(at: now, of: longerPause) > .zero else { return false }
        life.contradictions += 1
        return life.contradictions < 2
    }

    private mutating func renewIfDue(now: Date) -> [Effect] {
        guard case .signedIn(var life) = phase, !life.isRefreshing, life.isDue(at: now) else { return [] }
        // The server's tokens expire right away, or its clocks disagree. Use its tokens as they are.
        if life.trust == .good, life.remainingFreshness(at: now, of: leastPause) > .zero { return [] }
        defer { phase = .signedIn(life) }
        let pause = life.remainingPause(at: now)
        guard pause > 0 else { return refresh(&life, now: now) }
        return life.trust == .refused ? holdBack(&life, .seconds(pause)) : []
    }

    /// No token is available until a pause ends: interactive requests fail now; background requests keep waiting.
    private mutating func holdBack(_ life: inout TokenLife, _ pause: Duration) -> [Effect] {
        let failed = failUrgent(.postponed(pause))
        return isAnyoneQueued ? failed + awaitPause(&life, pause) : failed
    }

    private func refresh(_ life: inout TokenLife, now: Date) -> [Effect] {
        life.isRefreshing = true
        life.endPause()
        if life.trust == .good, life.hasExpired(at: now) { life.trust = .presumedExpired }
        return [.run(.refresh(life.stamp, life.credentials))]
    }

    private func awaitPause(_ life: inout TokenLife, _ pause: Duration) -> [Effect] {
        if life.isPauseAwaited { return [] }
        life.isPauseAwaited = true
        return [.run(.wait(life.stamp, pause))]
    }

    mutating func pauseEnded(_ stamp: Stamp, now: Date) -> [Effect] {
        guard case .signedIn(var life) = phase, life.stamp == stamp else { return [] }
        defer { phase = .signedIn(life) }
        life.isPauseAwaited = false
        guard !life.isRefreshing, life.trust == .refused, isAnyoneQueued else { return [] }
        // Another pause may have begun in the meantime.
        let pause = life.remainingPause(at: now)
        return pause > 0 ? awaitPause(&life, .seconds(pause)) : refresh(&life, now: now)
    }

    /// The server refused a token right after issuing it, so fetching another immediately would not help. The token
    /// stays in use, because the refusal may concern only that request.
    private mutating func doubt(_ life: inout TokenLife, now: Date) {
        guard life.pause == nil else { return }
        life.refusals += 1
        let delay = backoff.delay(afterFailures: life.refusals, using: &randomness)
        life.pause(for: max(leastPause, delay), from: now)
    }

    /// The minimum interval between a refresh that did not help and the next refresh, even if the backoff draws less.
    /// Default: one second. It limits each device's load on a server that refuses every token or is unreachable.
    private var leastPause: Duration { backoff.limit(afterFailures: 2) }

    /// Keeps the user signed in and schedules another refresh. Requests that cannot be sent without a new token fail.
    mutating func postpone(_ stamp: Stamp, retryAfter: Duration?, now: Date) -> [Effect] {
        guard case .signedIn(var life) = phase, life.stamp == stamp, life.isRefreshing else { return [] }
        life.isRefreshing = false
        life.failures += 1
        // The first failure may be transient, so retry soon.
        let least = life.failures == 1 ? .zero : leastPause
        let drawn = backoff.delay(afterFailures: life.failures, using: &randomness)
        let delay = max(retryAfter ?? .zero, least, drawn)
        life.pause(for: delay, from: now)
        if life.trust == .presumedExpired { life.trust = .good }
        let effects = life.trust == .refused ? holdBack(&life, delay) : []
        phase = .signedIn(life)
        return effects + pump()
    }
}
