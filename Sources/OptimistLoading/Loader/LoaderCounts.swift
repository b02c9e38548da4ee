// This source file is part of the Optimist open source project, under the MIT licence.

/// What a loader has done since it was made: a value to read as often as an app's metrics want it.
public struct LoaderCounts: Sendable, Equatable {
    /// Calls that found their value in memory.
    public var memoryHits = 0
    /// Calls that found their value on the disk.
    public var diskHits = 0
    /// Calls that joined a fetch which was under way or waiting.
    public var joins = 0
    /// Fetches that began.
    public var fetches = 0
    /// Fetches whose source said that the value is still right.
    public var unchanged = 0
    /// Fetches that threw an error.
    public var failures = 0
    /// Fetches that had begun when the last caller left.
    public var cancelled = 0
    /// Fetches that had not begun when the last caller left.
    public var dropped = 0
    /// The size of the values that were fetched or read from the disk before any caller looked at them, in bytes.
    public var prefetchedBytes = 0
    /// How much of ``prefetchedBytes`` was dropped or replaced before any caller looked at it, in bytes.
    public var unseenBytes = 0
    /// How long fetches waited for their turn, by the priority that they had when it came. Priorities without a fetch
    /// are missing.
    public var waits: [LoadPriority: Waits] {
        let counted = LoadPriority.allCases.map { ($0, waitsByUrgency[$0.rawValue]) }
        return Dictionary(uniqueKeysWithValues: counted.filter { $0.1.count > 0 })
    }
    private var waitsByUrgency = LoadPriority.allCases.map { _ in Waits() }

    /// How long some fetches waited for their turn.
    public struct Waits: Sendable, Equatable {
        /// How many fetches.
        public var count = 0
        /// All their waits together.
        public var total = Duration.zero
        /// The longest of the waits.
        public var longest = Duration.zero
    }

    mutating func prefetched(_ bytes: Int) {
        let (sum, isTooMuch) = prefetchedBytes.addingReportingOverflow(bytes)
        prefetchedBytes = isTooMuch ? .max : sum
    }

    mutating func waited(_ wait: Duration, at priority: LoadPriority) {
        waitsByUrgency[priority.rawValue].count += 1
        waitsByUrgency[priority.rawValue].total += wait
        waitsByUrgency[priority.rawValue].longest = max(waitsByUrgency[priority.rawValue].longest, wait)
    }
}
