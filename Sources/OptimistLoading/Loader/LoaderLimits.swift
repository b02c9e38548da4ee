// This source file is part of the Optimist open source project, under the MIT licence.

/// How much a loader does at the same time, and how long it waits.
public struct LoaderLimits: Sendable {
    /// The most fetches at the same time in one lane, from 1 on. By default one lane has all fetches of the loader.
    /// Default: 6.
    public let fetches: Int
    /// The most of them for values that are not on the screen, from 1 to ``fetches``. Default: 3, so that what comes
    /// onto the screen finds room at once.
    public let unseenFetches: Int
    /// The least time between the beginnings of two fetches, for a source that throttles. Default: nil, none.
    public let interval: Duration?
    /// How long a fetch continues after the last caller has left, in case one comes back. Default: 100 ms. A fetch that
    /// has not begun stops at once, and so does one whose place another needs.
    public let linger: Duration
    /// How much the loader keeps in memory.
    public let memory: MemoryLimits

    /// Makes limits. Each property says its default. `fetches` or `unseenFetches` below 1 stops the program.
    public init(
        fetches: Int = 6, unseenFetches: Int = 3, interval: Duration? = nil, linger: Duration = .milliseconds(100),
        memory: MemoryLimits = MemoryLimits()
    ) {
        precondition(fetches >= 1 && unseenFetches >= 1, "at least one fetch at a time")
        self.fetches = fetches
        self.unseenFetches = min(unseenFetches, fetches)
        self.interval = interval
        self.linger = linger
        self.memory = memory
    }
}
