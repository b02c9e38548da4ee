// This source file is part of the Optimist open source project, under the MIT licence.

/// The state of sync, for a status line.
public struct SyncStatus: Sendable, Hashable {
    /// What the engine is doing.
    public var phase: Phase
    /// The numbers of pending, rejected and parked rows on this device.
    public var counts: SyncCounts
    /// How far the first sync or a resync has come, in any phase. Nil: this device has received everything.
    public var progress: SyncProgress?
    /// The tables that the server keeps from this device, and why. Their rows stay on this device, and their unsent rows
    /// stay pending; all other tables go on.
    public var withheld: [String: WithheldReason]
    /// The rows that the server does not accept for now, and why: one element for each table and reason, the most
    /// urgent first.
    public var deferred: [DeferredRows]
    /// Whether this device has received everything that the server had at some time since the engine last connected. False
    /// while the engine does not run, cannot reach the server or waits for the app, and until the first answer after that
    /// is complete.
    ///
    /// Together with ``SyncCounts/lastSync`` it tells how old the rows are: while it is false, "as of 10:42, updating".
    public var isCaughtUp: Bool

    /// The tables that the server serves only to a newer version of the app.
    public var upgradeRequired: Set<String> { withheld.tables(.upgradeRequired) }
    /// The tables that the server refuses to this user.
    public var tablesWithoutAccess: Set<String> { withheld.tables(.refused) }

    /// Whether the first sync, or the latest resync, has ended, so that this device has everything that the server had.
    public var isComplete: Bool { progress == nil }

    /// What the engine is doing.
    public enum Phase: Sendable, Hashable {
        /// The engine does not run: the app has not called ``SyncEngine/run()``, or has cancelled it.
        case stopped
        /// Nothing to do: nothing is pending, and the engine awaits no answer.
        case idle
        /// Some rows are pending and cannot be sent now. The engine sends them again by itself: ``SyncStatus/deferred`` says
        /// why they wait, and until when. A table may also wait for a better network, or for a newer version of the app.
        case deferred
        /// Sending or receiving.
        case syncing
        /// The server cannot be reached. The engine tries again by itself.
        case offline
        /// This device's disk is full, or fails. The engine tries again by itself. The message is safe to show.
        case deviceTrouble(message: String)
        /// Sync waits for the app: for example, the user is not signed in, or may not use the account. The reason has a
        /// code to switch on and a sentence to show.
        case paused(reason: PauseReason)
        /// Sync has stopped, because it could do harm. Nothing was deleted. The message is safe to show.
        case failed(message: String)
    }

    /// Makes a status, for tests and previews. By default the engine does not run and nothing is pending.
    public init(
        phase: Phase = .stopped, counts: SyncCounts = SyncCounts(), progress: SyncProgress? = nil,
        withheld: [String: WithheldReason] = [:], deferred: [DeferredRows] = [],
        isCaughtUp: Bool = false
    ) {
        self.phase = phase
        self.counts = counts
        self.progress = progress
        self.withheld = withheld
        self.deferred = deferred
        self.isCaughtUp = isCaughtUp
    }
}

extension SyncStatus.Phase {
    /// Whether the server is not reached: what this device missed since is unknown.
    var isDisconnected: Bool {
        switch self {
        case .stopped, .offline, .paused, .failed: true
        case .idle, .deferred, .syncing, .deviceTrouble: false
        }
    }
}
