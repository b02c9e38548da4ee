// This source file is part of the Optimist open source project, under the MIT licence.

/// How much a loader does at a time, and how long it waits.
public struct LoaderLimits: Sendable {
    /// The most fetches at once in one lane, by default all that the loader does. Default: 6 (C8).
    public var fetches: Int
    /// The most of them for what nobody looks at. Default: 3, so that there is room at once for what comes onto the screen.
    public var unseenFetches: Int
    /// The least time between the beginnings of two fetches, for a source that throttles. Nil, the default: none.
    public var interval: Duration?
    /// How long a fetch goes on after the last who wanted it has left, in case somebody comes back. Default: 100 ms. One that
    /// has not begun stops at once, and so does one whose place somebody needs.
    public var linger: Duration
    public var memory: MemoryLimits

    /// - Precondition: There is at least one fetch at a time.
    public init(
        fetches: Int = 6, unseenFetches: Int = 3, interval: Duration? = nil, linger: Duration = .milliseconds(100),
        memory: MemoryLimits = MemoryLimits()
    ) {
        precondition(fetches >= 1 && unseenFetches >= 0, "at least one fetch at a time")
        self.fetches = fetches
        self.unseenFetches = min(unseenFetches, fetches)
        self.interval = interval
        self.linger = linger
        self.memory = memory
    }
}
