// This source file is part of the Optimist open source project, under the MIT licence.

/// The result of ``SyncEngine/syncOnce(timeout:)``.
public struct SyncOutcome: Sendable, Hashable {
    /// Why the call returned.
    public var end: End
    /// The status when the call returned.
    public var status: SyncStatus

    /// Whether sync is complete: the server has accepted every row, and this device has received everything.
    public var isComplete: Bool { end == .done && status.counts.pending == 0 && status.isComplete }

    /// Why a call of ``SyncEngine/syncOnce(timeout:)`` returned.
    public enum End: Sendable, Hashable {
        /// The engine sent every row that can be sent now, and received everything. Rows that the server does not
        /// accept for now stay pending: ``SyncStatus/deferred`` says why.
        case done
        /// The time was up, or the call of ``SyncEngine/run()`` that did the work was cancelled.
        case outOfTime
        /// The server cannot be reached, or asked the engine to wait.
        case offline
        /// This device's disk is full or failing. The message is safe to show.
        case deviceTrouble(message: String)
        /// Sync waits for the app, for example because no user is signed in.
        case paused(reason: PauseReason)
        /// Sync has stopped, because going on could do harm. The message is safe to show.
        case failed(message: String)
    }

    /// Creates an outcome, for tests and previews. Default: a complete sync.
    public init(end: End = .done, status: SyncStatus = SyncStatus()) {
        self.end = end
        self.status = status
    }
}

extension SyncOutcome: CustomStringConvertible {
    /// Why the call returned and how many rows are left, for a log. Never compare it.
    public var description: String {
        let why =
            switch end {
            case .done: "Sync has finished."
            case .outOfTime: "The time ran out before sync finished."
            case .offline: "The server cannot be reached."
            case .deviceTrouble(let message), .failed(let message): message
            case .paused(let reason): reason.message
            }
        return "\(why) Pending: \(status.counts.pending). Rejected: \(status.counts.rejected)."
    }
}

extension SyncOutcome {
    /// - Parameter phase: The phase when no push or pull was running any more. Nil if the time was up first.
    init(_ phase: SyncStatus.Phase?, _ status: SyncStatus) {
        let end: End =
            switch phase ?? status.phase {
            case .paused(let reason): .paused(reason: reason)
            case _ where phase == nil: .outOfTime
            case .stopped: .outOfTime
            case .idle, .deferred, .syncing: .done
            case .offline: .offline
            case .deviceTrouble(let message): .deviceTrouble(message: message)
            case .failed(let message): .failed(message: message)
            }
        self.init(end: end, status: status)
    }
}
