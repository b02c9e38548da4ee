// This source file is part of the Optimist open source project, under the MIT licence.

/// What a loader has done since it was made.
public struct LoaderCounts: Sendable, Equatable {
    /// Values that were in memory, and on the disk, when somebody asked for them.
    public var memoryHits = 0
    public var diskHits = 0
    /// Those who joined a fetch that was under way or waiting.
    public var joins = 0
    public var fetches = 0
    public var unchanged = 0
    public var failures = 0
    /// Fetches that nobody wanted any more: those that had begun, and those that had not.
    public var cancelled = 0
    public var dropped = 0
    /// What was fetched for nobody who looked, in bytes, and what of that was let go before anybody did.
    public var prefetchedBytes = 0
    public var unseenBytes = 0
    /// How long fetches waited for their turn, by the priority at which it came.
    public var waits: [LoadPriority: Waits] = [:]

    public struct Waits: Sendable, Equatable {
        public var count = 0
        public var total = Duration.zero
        public var longest = Duration.zero
    }

    mutating func waited(_ wait: Duration, at priority: LoadPriority) {
        var waits = waits[priority, default: Waits()]
        waits.count += 1
        waits.total += wait
        waits.longest = max(waits.longest, wait)
        self.waits[priority] = waits
    }
}
