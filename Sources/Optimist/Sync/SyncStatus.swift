// This source file is part of the Optimist open source project, under the MIT licence.

/// The state of sync, for a status line.
public struct SyncStatus: Sendable, Hashable {
    /// What the engine is doing.
    public var phase: Phase
    /// The numbers of pending, rejected and parked rows on this device.
    public var counts: SyncCounts
    /// How far the first sync has come, or a resync, in any phase. Nil: this device has received everything.
    public var progress: SyncProgress?
    /// The tables that the server serves to a newer version of the app only. Their rows stay here and pending; all
    /// other tables go on.
    public var upgradeRequired: Set<String>
    /// The rows that the server does not take for now, and why: one element for each table and reason, the most urgent
    /// first.
    public var waiting: [WaitingRows]

    /// Whether the first sync has reached its end, so that this device has all that the server had.
    public var isComplete: Bool { progress == nil }

    /// What the engine is doing.
    public enum Phase: Sendable, Hashable {
        /// The engine does not run: ``SyncEngine/run()`` was not called, or has been cancelled.
        case stopped
        /// Nothing to do: nothing is pending, and no answer is awaited.
        case idle
        /// Something is pending that cannot be sent now. It is sent again by itself: ``SyncStatus/waiting`` says why it waits, and
        /// until when. A table may also wait for a better network, or for a newer version of the app.
        case waiting
        /// Sending or receiving.
        case syncing
        /// The server cannot be reached. It is tried again by itself.
        case offline
        /// This device's disk is full, or does not answer as it should. It is tried again by itself. The message is safe to
        /// show.
        case deviceTrouble(message: String)
        /// Waiting for the app: the user is not signed in, or may not use the account. The reason has a code to switch
        /// on and a sentence to show.
        case paused(reason: PauseReason)
        /// Sync has stopped, since going on could do harm. Nothing was deleted. The message is safe to show.
        case failed(message: String)
    }

    /// Makes a status, for tests and previews. By default the engine does not run and nothing is pending.
    public init(
        phase: Phase = .stopped, counts: SyncCounts = SyncCounts(), progress: SyncProgress? = nil,
        upgradeRequired: Set<String> = [], waiting: [WaitingRows] = []
    ) {
        self.phase = phase
        self.counts = counts
        self.progress = progress
        self.upgradeRequired = upgradeRequired
        self.waiting = waiting
    }
}
