// This source file is part of the Optimist open source project, under the MIT licence.

import Foundation
import OptimistCore

/// Makes all of a session's decisions. Each event returns the effects to carry out; the machine itself does no I/O and
/// never waits.
struct SessionMachine {
    /// Calls share the slots. Streams and file transfers stay open for a long time and do not use slots.
    enum LaneName: Int, CaseIterable { case calls, streams }

    enum Event {
        /// A caller needs the session: start reading the stored credentials, unless reading has begun.
        case restore
        case restored(Credentials?)
        case restoreFailed(SignOutReason)
        case locked
        /// A logical request begins, in the current epoch.
        case arrived(RequestID, LaneName, SessionRequest.Urgency)
        /// The request is ready to be sent; `refused` is the stamp of the token the server just refused.
        case wants(RequestID, refused: Stamp?)
        /// The request pauses before its next attempt and frees its slot.
        case pauses(RequestID)
        /// The request was answered, failed or was cancelled.
        case left(RequestID)
        case accepted(Stamp)
        /// New credentials are stored; the stamp is that of the old ones.
        case refreshed(Stamp, Credentials)
        case refreshFailed(Stamp, retryAfter: Duration?)
        /// The pause between refreshes has ended.
        case pauseEnded(Stamp)
        /// The server ended the session that has this stamp.
        case ended(Stamp, SignOutReason)
        /// New credentials are stored, for an epoch reserved before they were requested.
        case signedIn(epoch: Int, Credentials)
        case signedOut
    }

    enum Effect: Equatable {
        case grant(RequestID, Binding)
        case fail(RequestID, Failure)
        case cancelRefresh
        case run(Errand)
    }

    /// Asynchronous work that ends in at most one further event.
    enum Errand: Equatable {
        case restore
        case refresh(Stamp, Credentials)
        /// Waits for the end of a pause.
        case wait(Stamp, Duration)
        /// Removes the stored credentials of an ended epoch.
        case erase(Credentials, upTo: Int)
        case revoke(Credentials)
    }

    enum Failure: Equatable {
        case signedOut(SignOutReason)
        /// No token will be requested until this time has passed.
        case postponed(Duration)
        /// A token was refused right after it was fetched.
        case refused
        case locked
    }

    enum Phase {
        case restoring(begun: Bool)
        case locked
        case signedOut(SignOutReason)
        case signedIn(TokenLife)
    }

    enum Place { case queued, sent, aside }
    struct Request {
        var lane: LaneName
        var urgency: SessionRequest.Urgency
        var place = Place.aside
    }

    var phase = Phase.restoring(begun: false)
    var epoch = 0
    private var lastEpoch = 0
    var requests: [RequestID: Request] = [:]
    var lanes: [Lane]
    let backoff: Backoff
    var randomness: SplitMix64

    init(slots: Int, backoff: Backoff, randomness: SplitMix64) {
        lanes = [Lane(slots: slots), Lane(slots: nil)]
        self.backoff = backoff
        self.randomness = randomness
    }

    var state: SessionState {
        switch phase {
        case .restoring: .restoring
        case .locked: .locked
        case .signedOut(let reason): .signedOut(reason)
        case .signedIn(let life): life.state
        }
    }

    /// The credentials in use, if they have this stamp.
    func credentials(of stamp: Stamp) -> Credentials? {
        guard case .signedIn(let life) = phase, life.stamp == stamp else { return nil }
        return life.credentials
    }

    var stamp: Stamp {
        guard case .signedIn(let life) = phase else { return Stamp(epoch: epoch, generation: 0) }
        return life.stamp
    }

    /// The error for a request that the session has already failed, or that belongs to an earlier epoch.
    var endOfEarlierEpochs: Failure {
        switch phase {
        case .signedOut(let reason): .signedOut(reason)
        case .signedIn: .signedOut(.replaced)
        case .locked, .restoring: .locked  // No user has signed in yet, so this is the only possible failure.
        }
    }

    /// Returns the epoch of a sign-in or sign-out that begins now. Its result counts unless a later sign-in or sign-out
    /// finishes first.
    mutating func reserveEpoch() -> Int {
        lastEpoch += 1
        return lastEpoch
    }

    /// - Parameter now: The server's time, as far as it is known. Evaluated only for events that need it.
    mutating func handle(_ event: Event, now: @autoclosure () -> Date) -> [Effect] {
        switch event {
        case .restore: restore()
        case .restored(let credentials): restored(credentials, now: now())
        case .restoreFailed(let reason): restoreFailed(reason)
        case .locked: locked()
        case .arrived(let id, let lane, let urgency): arrived(id, lane, urgency)
        case .wants(let id, let refused): wants(id, refused: refused, now: now())
        case .pauses(let id): vacate(id, leaving: false)
        case .left(let id): vacate(id, leaving: true)
        case .accepted(let stamp): accepted(stamp)
        case .refreshed(let stamp, let credentials): refreshed(stamp, credentials, now: now())
        case .refreshFailed(let stamp, let delay): postpone(stamp, retryAfter: delay, now: now())
        case .pauseEnded(let stamp): pauseEnded(stamp, now: now())
        case .ended(let stamp, let reason): ended(stamp, reason)
        case .signedIn(let epoch, let credentials): signedIn(epoch, credentials)
        case .signedOut: signedOut()
        }
    }
}
