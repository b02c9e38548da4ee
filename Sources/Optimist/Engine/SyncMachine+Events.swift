// This source file is part of the Optimist open source project, under the MIT licence.

extension SyncMachine {
    enum Lane: String, Sendable, Hashable, CaseIterable { case push, pull, stream }

    enum Event: Sendable {
        /// The engine starts, with the waits and limits that an earlier launch left.
        case started([Lane: Wait], Limits = Limits())
        case wrote
        case pushed(PushOutcome)
        case pulled(PullOutcome)
        case streamAlive, poked
        case streamEnded(Failure)
        case waited(Timer, token: Int)
        case online(Bool)
        case foreground
        case signedIn
        case signedOut(PauseReason)

        /// Whether the server may have changes that a pull under way has missed.
        var mayBringChanges: Bool {
            switch self {
            case .wrote, .pulled, .signedOut: false
            default: true
            }
        }
    }

    enum PushOutcome: Sendable {
        /// Postponed rows are due after `nextDue`.
        case nothing(nextDue: Duration?)
        /// The server answered every row. Some verdicts may need a pull.
        case sent(needsPull: Bool)
        /// - Parameter rows: How many rows the server may have received. Zero: the push was certainly not sent.
        case failed(Failure, rows: Int, units: Int)
    }

    enum PullOutcome: Sendable {
        /// - Parameter lacksSpaces: Whether spaces in trouble may have more changes.
        case page(hasMore: Bool, lacksSpaces: Bool = false)
        case failed(Failure)
    }

    enum Failure: Sendable, Equatable {
        /// The network or the server failed. Retry later.
        case transient
        /// This device's disk failed. Retry later.
        case device(String)
        case throttled(Duration)
        case paused(PauseReason)
        /// The request's session has ended.
        case signedOut(PauseReason)
        case tooLarge(isProtocolLimit: Bool)
        case refused
        case pushRewound
        case protocolError(String)
        case noPokes
        /// Sync must stop, because it could do harm.
        case fatal(String)
    }

    struct Limits: Sendable, Equatable {
        var push = SyncMachine.maxRows
        var page = SyncMachine.maxPageRows
    }

    struct Wait: Sendable, Equatable {
        var failures: Int
        var remaining: Duration
        var isDemanded: Bool
    }

    enum Timer: Sendable, Hashable {
        case lane(Lane)
        case rows, spaces, watchdog
    }

    enum Effect: Sendable, Equatable {
        case push(rowLimit: Int)
        case pull(rowLimit: Int)
        case openStream
        /// Forget all running work, whose outcome no longer counts.
        case abandon
        case giveUp(Lane)
        case wait(Timer, Duration, token: Int)
        case cancelWait(Timer)
        /// Save a wait for the next launch. Nil: forget the saved wait.
        case remember(Lane, failures: Int, wait: Duration?, isDemanded: Bool)
        /// Reject the only unit of the last push as too large, or hold it for a day.
        case setAside(isRejected: Bool)
        case renewDeviceID, reconnect
        case publish(SyncStatus.Phase, isCaughtUp: Bool)
    }
}
