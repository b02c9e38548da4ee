// This source file is part of the Optimist open source project, under the MIT licence.

/// How much a loader does at a time, and how long it waits.
public struct LoaderLimits: Sendable {
    /// The most fetches at once in one lane, by default all that the loader does. Default: 6 (C8).
    public let fetches: Int
    /// The most of them for what nobody looks at, and no more than those. Default: 3, so that there is room at once for
    /// what comes onto the screen.
    public let unseenFetches: Int
    /// The least time between the beginnings of two fetches, for a source that throttles. Nil, the default: none.
    public let interval: Duration?
    /// How long a fetch goes on after the last who wanted it has left, in case somebody comes back. Default: 100 ms.
    /// One that has not begun stops at once, and so does one whose place somebody needs.
    public let linger: Duration
    public let memory: MemoryLimits

    /// - Precondition: There is at least one fetch at a time, also of what nobody looks at.
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
