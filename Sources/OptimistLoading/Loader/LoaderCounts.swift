// This source file is part of the Optimist open source project, under the MIT licence.

/// What a loader has done since it was made: a value to read as often as an app's metrics want it.
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
    /// What was fetched or read from the disk for nobody who looked, and kept, in bytes; and what of that was let go or
    /// replaced before anybody did.
    public var prefetchedBytes = 0
    public var unseenBytes = 0
    /// How long fetches waited for their turn, by the priority at which it came.
    public var waits: [LoadPriority: Waits] {
        let counted = LoadPriority.allCases.map { ($0, waitsByUrgency[$0.rawValue]) }
        return Dictionary(uniqueKeysWithValues: counted.filter { $0.1.count > 0 })
    }
    private var waitsByUrgency = LoadPriority.allCases.map { _ in Waits() }

    public struct Waits: Sendable, Equatable {
        public var count = 0
        public var total = Duration.zero
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
