// This source file is part of the Optimist open source project, under the MIT licence.

import OptimistCore
public import OptimistSession

/// A reachability hint that a test controls. It is online until the test changes it.
///
/// Each reader of ``updates`` immediately receives the current path, as from a real monitor. Safe to use from any
/// thread.
public final class ManualReachability: Reachability {
    private struct State {
        var path = NetworkPath(isOnline: true)
        var continuations: [AsyncStream<NetworkPath>.Continuation] = []
    }

    private let state = Mutex(State())

    /// Creates a hint that is online.
    public init() {}

    public var updates: AsyncStream<NetworkPath> {
        AsyncStream(bufferingPolicy: .bufferingNewest(1)) { continuation in
            // Under the lock, so that a newer path cannot overtake this one. Yielding does not run other code.
            state.withLock { state in
                continuation.yield(state.path)
                state.continuations.append(continuation)
            }
        }
    }

    /// Sets whether there is a network. If so, it is neither expensive nor constrained.
    public func update(isOnline: Bool) { update(NetworkPath(isOnline: isOnline)) }

    /// Sets the network path.
    public func update(_ path: NetworkPath) {
        state.withLock { state in
            state.path = path
            for continuation in state.continuations { continuation.yield(path) }
        }
    }
}
