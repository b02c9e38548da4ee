// This source file is part of the Optimist open source project, under the MIT licence.

/// What one call of ``SyncEngine/syncOnce(timeout:)`` has left, and why.
public struct SyncOutcome: Sendable, Hashable {
    /// Why the call returned.
    public var end: End
    /// The counts, and the reasons for which rows wait, when it returned.
    public var status: SyncStatus

    /// Whether everything is done: the server has accepted every row, and this device has received what the server had.
    public var isComplete: Bool { end == .done && status.counts.pending == 0 && status.isComplete }

    /// Why a call of ``SyncEngine/syncOnce(timeout:)`` returned.
    public enum End: Sendable, Hashable {
        /// Everything that can be sent now was sent, and what the server had was received. Rows that the server does not
        /// accept for now are still pending: ``SyncStatus/deferred`` says why.
        case done
        /// The time was over, or the call of ``SyncEngine/run()`` that did the work was cancelled.
        case outOfTime
        /// The server cannot be reached, or asks to wait.
        case offline
        /// This device's disk is full, or fails. The message is safe to show.
        case deviceTrouble(message: String)
        /// Sync waits for the app, for example because no user is signed in.
        case paused(reason: PauseReason)
        /// Sync has stopped, because it could do harm. The message is safe to show.
        case failed(message: String)
    }

    /// Makes an outcome, for tests and previews. Default: everything is done.
    public init(end: End = .done, status: SyncStatus = SyncStatus()) {
        self.end = end
        self.status = status
    }
}

extension SyncOutcome: CustomStringConvertible {
    /// A sentence for a log: why the call returned, and how much is still pending. Never compare it.
    public var description: String {
        let why =
            switch end {
            case .done: "Sent and received what there was."
            case .outOfTime: "The time was over."
            case .offline: "The server cannot be reached."
            case .deviceTrouble(let message), .failed(let message): message
            case .paused(let reason): reason.message
            }
        return "\(why) Pending: \(status.counts.pending). Rejected: \(status.counts.rejected)."
    }
}

extension SyncOutcome {
    /// - Parameters:
    ///   - phase: The phase once no push or pull was under way. Nil: that did not come in time.
    ///   - status: The status at the end.
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
