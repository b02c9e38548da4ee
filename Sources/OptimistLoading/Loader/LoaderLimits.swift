// This source file is part of the Optimist open source project, under the MIT licence.

/// Limits of a loader's concurrency and memory.
public struct LoaderLimits: Sendable {
    /// The maximum number of concurrent fetches in one group of keys. At least 1. By default, all keys are in one
    /// group. Default: 6.
    public let fetches: Int
    /// The maximum number of concurrent fetches for values that are not on screen, from 1 to ``fetches``. Default: 3,
    /// which leaves room for values that appear on screen.
    public let unseenFetches: Int
    /// The minimum time between the starts of two fetches, for a source that throttles. Default: nil, no minimum.
    public let interval: Duration?
    /// How long a fetch continues after its last caller has left, in case a caller returns. Default: 100 ms.
    ///
    /// A fetch that has not begun stops immediately. A lingering fetch also stops when another fetch needs its slot.
    public let linger: Duration
    /// How much the loader keeps in memory.
    public let memory: MemoryLimits

    /// Creates limits. Each property documents its default. `fetches` or `unseenFetches` below 1 stops the program.
    public init(
        fetches: Int = 6, unseenFetches: Int = 3, interval: Duration? = nil, linger: Duration = .milliseconds(100),
        memory: MemoryLimits = MemoryLimits()
    ) {
        precondition(fetches >= 1 && unseenFetches >= 1, "A loader must allow at least one fetch at a time.")
        self.fetches = fetches
        self.unseenFetches = min(unseenFetches, fetches)
        self.interval = interval
        self.linger = linger
        self.memory = memory
    }
}
