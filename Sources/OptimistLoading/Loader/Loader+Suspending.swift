// This source file is part of the Optimist open source project, under the MIT licence.

import OptimistCore

extension Loader {
    /// Prevents new fetches until ``resume()``, for example while the app is in the background or a screen scrolls
    /// fast.
    ///
    /// Values in memory and on the disk are still delivered, and running fetches continue. Other callers wait,
    /// including a fetch that requests another key of this loader. Repeated calls have no effect.
    public func suspend() { state.withLock { $0.machine.suspend() } }

    /// Allows fetches again, the most urgent first. Without effect if the loader is not suspended.
    public func resume() {
        let now = elapsed()
        run(state.withLock { $0.actions($0.machine.resume(at: now)) })
    }

    /// The current use of memory.
    public var memory: LoaderMemory {
        state.withLock { LoaderMemory(count: $0.machine.memory.count, costBytes: $0.machine.memory.cost) }
    }
}

/// How many values a loader has in memory. See ``MemoryLimits`` for the limits.
public struct LoaderMemory: Sendable, Equatable {
    /// The number of values, without seeds.
    public let count: Int
    /// The total of their costs, as computed by the loader's `cost`.
    public let costBytes: Int
}
