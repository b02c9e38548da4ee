// This source file is part of the Optimist open source project, under the MIT licence.

/// Where sync stands, for a status line.
public struct SyncStatus: Sendable, Hashable {
    /// What the engine is doing.
    public var phase: Phase
    /// What is pending, rejected and parked on this device.
    public var counts: SyncCounts
    /// How far the first sync has come, or a resync, in whatever phase it is. Nil: this device has received everything.
    public var progress: SyncProgress?
    /// The tables that the server serves to a newer version of the app only. Their rows stay here and pending; all other
    /// tables go on.
    public var upgradeRequired: Set<String>

    /// Whether the first sync has reached its end, so that this device has all that the server had.
    public var isComplete: Bool { progress == nil }

    public enum Phase: Sendable, Hashable {
        /// Nothing to do.
        case idle
        /// Sending or receiving.
        case syncing
        /// The server cannot be reached. It is tried again by itself.
        case offline
        /// This device's disk is full, or does not answer as it should. It is tried again by itself. The message is safe to
        /// show.
        case deviceTrouble(message: String)
        /// Waiting for the app: nobody is signed in, or the account may not be used. The reason has a code to switch on and a
        /// sentence to show.
        case paused(reason: PauseReason)
        /// Sync has stopped, since going on could do harm. Nothing was deleted. The message is safe to show.
        case failed(message: String)
    }

    public init(
        phase: Phase = .idle, counts: SyncCounts = SyncCounts(), progress: SyncProgress? = nil,
        upgradeRequired: Set<String> = []
    ) {
        self.phase = phase
        self.counts = counts
        self.progress = progress
        self.upgradeRequired = upgradeRequired
    }
}
