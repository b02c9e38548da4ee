// This source file is part of the Optimist open source project, under the MIT licence.

import Foundation
import OptimistCore

/// Decides everything a session decides. Each event returns what to do next; nothing here waits, sends or stores.
struct SessionMachine {
    /// Calls share the slots. A stream stays open for hours and takes none, and files are as streams.
    enum LaneName: Int, CaseIterable { case calls, streams }

    enum Event {
        /// A caller needs the session: read the kept credentials unless that has begun.
        case restore
        case restored(Credentials?)
        case restoreFailed(SignOutReason)
        case locked
        /// A logical request begins. It belongs to the present epoch.
        case arrived(RequestID, LaneName, SessionRequest.Urgency)
        /// It wants to be sent; `refused` is the stamp of the token it just failed with.
        case wants(RequestID, refused: Stamp?)
        /// It pauses before its next attempt, and gives its slot to another.
        case pauses(RequestID)
        /// It is over: answered, failed or cancelled.
        case left(RequestID)
        /// The server accepted a token.
        case accepted(Stamp)
        /// New credentials are stored; the stamp is that of the old ones.
        case refreshed(Stamp, Credentials)
        case refreshFailed(Stamp, retryAfter: Duration?)
        /// The time has passed before which no new token was asked for.
        case pauseEnded(Stamp)
        /// The server ended the session that this stamp belongs to.
        case ended(Stamp, SignOutReason)
        /// New credentials are stored, for an epoch that was reserved before they were asked for.
        case signedIn(epoch: Int, Credentials)
        case signedOut
    }

    enum Effect: Equatable {
        case grant(RequestID, Binding)
        case fail(RequestID, Failure)
        case cancelRefresh
        case run(Errand)
    }

    /// Work that takes time and ends in another event, or in none.
    enum Errand: Equatable {
        case restore
        case refresh(Stamp, Credentials)
        /// Until a pause ends, for those who wait.
        case wait(Stamp, Duration)
        /// Removes what was kept of credentials that have ended with an epoch.
        case erase(Credentials, upTo: Int)
        case revoke(Credentials)
    }

    enum Failure: Equatable {
        case signedOut(SignOutReason)
        /// No new token is asked for before that time has passed.
        case postponed(Duration)
        /// A token was refused that had just been fetched.
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

    /// The credentials in use, if they are those of a stamp.
    func credentials(of stamp: Stamp) -> Credentials? {
        guard case .signedIn(let life) = phase, life.stamp == stamp else { return nil }
        return life.credentials
    }

    /// The stamp of the credentials in use.
    var stamp: Stamp {
        guard case .signedIn(let life) = phase else { return Stamp(epoch: epoch, generation: 0) }
        return life.stamp
    }

    /// Why a request may not go on that the session has failed already, or that is of an earlier epoch.
    var endOfEarlierEpochs: Failure {
        switch phase {
        case .signedOut(let reason): .signedOut(reason)
        case .signedIn: .signedOut(.replaced)
        case .locked, .restoring: .locked  // No user has signed in yet, so nothing else can have failed it.
        }
    }

    /// Returns the number of a sign-in or sign-out that begins now. Its result counts unless a later one came first.
    mutating func reserveEpoch() -> Int {
        lastEpoch += 1
        return lastEpoch
    }

    /// - Parameter now: By the server's clock, as far as it is known (T5). Most events need not know it.
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
