// This source file is part of the Optimist open source project, under the MIT licence.

/// The state of sync, for a status line.
public struct SyncStatus: Sendable, Hashable {
    /// What the engine is doing.
    public var phase: Phase
    /// The pending, rejected and parked rows on this device.
    public var counts: SyncCounts
    /// The progress of the first sync or of a resync, in any phase. Nil if this device has received everything.
    public var progress: SyncProgress?
    /// The tables that the server withholds from this device, and why. Their rows stay here, unsent rows stay pending,
    /// and all other tables sync.
    public var withheld: [String: WithheldReason]
    /// The rows that the server does not accept for now, and why: one element per table and reason, the most urgent
    /// first.
    public var deferred: [DeferredRows]
    /// Whether this device has caught up since the engine last connected. False while the engine is stopped, offline or
    /// paused, and then until a pull has received everything.
    ///
    /// While it is false, show the age of the rows with ``SyncCounts/lastSync``: "as of 10:42, updating".
    public var isCaughtUp: Bool

    /// The tables that the server serves only to a newer version of the app.
    public var upgradeRequired: Set<String> { withheld.tables(.upgradeRequired) }
    /// The tables that the server refuses to this user.
    public var tablesWithoutAccess: Set<String> { withheld.tables(.refused) }

    /// Whether the first sync, or the latest resync, has finished, so that this device has received everything.
    public var isComplete: Bool { progress == nil }

    /// What the engine is doing.
    public enum Phase: Sendable, Hashable {
        /// The engine does not run. The app has not called ``SyncEngine/run()``, or has cancelled it.
        case stopped
        /// No row is pending, and the engine expects no answer.
        case idle
        /// Pending rows cannot be sent now. The engine retries: ``SyncStatus/deferred`` says why and when. A table may
        /// also wait for a better network, or for an app update.
        case deferred
        /// Sending or receiving.
        case syncing
        /// The server cannot be reached. The engine retries.
        case offline
        /// This device's disk is full or failing. The engine retries. The message is safe to show.
        case deviceTrouble(message: String)
        /// Sync waits for the app, for example because no user is signed in.
        case paused(reason: PauseReason)
        /// Sync has stopped, because going on could do harm. No data was deleted. The message is safe to show.
        case failed(message: String)
    }

    /// Creates a status, for tests and previews. By default the engine is stopped and nothing is pending.
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
    /// Whether the engine is disconnected, so that this device may have missed changes.
    var isDisconnected: Bool {
        switch self {
        case .stopped, .offline, .paused, .failed: true
        case .idle, .deferred, .syncing, .deviceTrouble: false
        }
    }
}
