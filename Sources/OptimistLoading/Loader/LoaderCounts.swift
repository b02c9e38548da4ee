// This source file is part of the Optimist open source project, under the MIT licence.

/// The activity of a loader since its creation, for an app's metrics.
public struct LoaderCounts: Sendable, Equatable {
    /// Calls that found their value in memory.
    public var memoryHits = 0
    /// Calls that found their value on the disk.
    public var diskHits = 0
    /// Calls that joined a running or queued fetch.
    public var joins = 0
    /// Fetches that began.
    public var fetches = 0
    /// Fetches whose source confirmed the cached value.
    public var unchanged = 0
    /// Fetches that threw an error.
    public var failures = 0
    /// Running fetches that were cancelled.
    public var cancelled = 0
    /// Queued fetches that were cancelled.
    public var dropped = 0
    /// The size of values that were loaded before a caller used them, in bytes.
    public var prefetchedBytes = 0
    /// The part of ``prefetchedBytes`` that was dropped or replaced before a caller used it, in bytes.
    public var unseenBytes = 0
    /// How long fetches waited for a slot, by their priority when they began. Priorities without a fetch are missing.
    public var waits: [LoadPriority: Waits] {
        let counted = LoadPriority.allCases.map { ($0, waitsByUrgency[$0.rawValue]) }
        return Dictionary(uniqueKeysWithValues: counted.filter { $0.1.count > 0 })
    }
    private var waitsByUrgency = LoadPriority.allCases.map { _ in Waits() }

    /// The waiting times of some fetches.
    public struct Waits: Sendable, Equatable {
        /// The number of fetches.
        public var count = 0
        /// The sum of their waits.
        public var total = Duration.zero
        /// The longest wait.
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
