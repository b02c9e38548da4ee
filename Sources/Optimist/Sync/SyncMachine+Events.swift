// This source file is part of the Optimist open source project, under the MIT licence.

/// What the machine hears, and what it answers with.
extension SyncMachine {
    enum Lane: String, Sendable, Hashable, CaseIterable { case push, pull, stream }

    enum Event: Sendable {
        /// The engine starts, with the waits that an earlier launch left.
        case started([Lane: Wait])
        /// Something was committed on this device.
        case wrote
        case pushed(PushOutcome)
        case pulled(PullOutcome)
        case streamAlive, poked
        case streamEnded(Failure)
        case waited(Timer, token: Int)
        case online(Bool)
        case foreground
        /// There is a session again.
        case signedIn
        /// The session ended.
        case signedOut(PauseReason)
    }

    enum PushOutcome: Sendable {
        /// Nothing can be sent now; perhaps some rows can, after a while.
        case nothing(nextDue: Duration?)
        /// Everything was answered. Some of that may have to wait for what a pull brings.
        case sent(needsPull: Bool)
        case failed(Failure, rows: Int, units: Int)
    }

    enum PullOutcome: Sendable {
        case page(hasMore: Bool)
        case failed(Failure)
    }

    /// Why something failed, as far as the decision goes.
    enum Failure: Sendable, Equatable {
        /// The network or the server: later.
        case transient
        /// This device's disk: later.
        case device(String)
        case throttled(Duration)
        case paused(PauseReason)
        /// The session of the request has ended.
        case signedOut(PauseReason)
        case tooLarge(isProtocolLimit: Bool)
        case refused
        case pushRewound
        case protocolError(String)
        case noPokes
        /// Going on could do harm.
        case fatal(String)
    }

    struct Wait: Sendable, Equatable {
        var failures: Int
        var remaining: Duration
        var isDemanded: Bool
    }

    enum Timer: Sendable, Hashable {
        case lane(Lane)
        case rows, watchdog
    }

    enum Effect: Sendable, Equatable {
        case push(rowLimit: Int)
        case pull
        case openStream
        /// Forget what is running: its outcome no longer counts.
        case abandon
        /// Forget the work of this lane, which the server has not answered.
        case giveUp(Lane)
        case wait(Timer, Duration, token: Int)
        case cancelWait(Timer)
        /// Keep a wait over a relaunch. Nil: forget it.
        case remember(Lane, failures: Int, wait: Duration?, isDemanded: Bool)
        /// The one unit of the last push is the culprit: reject it as too large, or hold it for a day.
        case setAside(isRejected: Bool)
        case renewDeviceID, reconnect
        case publish(SyncStatus.Phase)
    }
}
