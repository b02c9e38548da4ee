// This source file is part of the Optimist open source project, under the MIT licence.

import OptimistCore

extension Loader {
    /// Lets no fetch begin until ``resume()``: while the app is in the background, say, or a screen scrolls fast.
    ///
    /// Values in memory and on the disk are delivered as ever, fetches that have begun go on, and callers of others wait. A
    /// fetch that waits for another key of this loader waits too. Suspending twice is the same as once.
    public func suspend() { state.withLock { $0.machine.suspend() } }

    /// Lets fetches begin again, the most urgent first. Without effect if the loader is not suspended.
    public func resume() {
        let now = elapsed()
        run(state.withLock { $0.actions($0.machine.resume(at: now)) })
    }

    /// What the memory holds at this moment.
    public var memory: LoaderMemory {
        state.withLock { LoaderMemory(count: $0.machine.memory.count, costBytes: $0.machine.memory.cost) }
    }
}

/// How much of a loader's values is in memory. See ``MemoryLimits`` for the most that may be.
public struct LoaderMemory: Sendable, Equatable {
    /// How many values, without those that the app shows before their source has them.
    public let count: Int
    /// Their cost together, as the loader's `cost` says.
    public let costBytes: Int
}
