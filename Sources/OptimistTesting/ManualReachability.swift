// This source file is part of the Optimist open source project, under the MIT licence.

import OptimistCore
public import OptimistSession

/// A hint that a test gives by hand. It says that there is a network until the test says otherwise.
///
/// Each reader of ``updates`` gets at once what was said last, as from a real monitor. Use it from any thread.
public final class ManualReachability: Reachability {
    private struct State {
        var path = NetworkPath(isOnline: true)
        var continuations: [AsyncStream<NetworkPath>.Continuation] = []
    }

    private let state = Mutex(State())

    /// Makes a hint that says that there is a network.
    public init() {}

    public var updates: AsyncStream<NetworkPath> {
        AsyncStream(bufferingPolicy: .bufferingNewest(1)) { continuation in
            // Under the lock, so that no newer path comes before it. Yielding runs no other code.
            state.withLock { state in
                continuation.yield(state.path)
                state.continuations.append(continuation)
            }
        }
    }

    /// Says whether there is a network. A network is free and unlimited.
    public func update(isOnline: Bool) { update(NetworkPath(isOnline: isOnline)) }

    /// Says which network there is.
    public func update(_ path: NetworkPath) {
        state.withLock { state in
            state.path = path
            for continuation in state.continuations { continuation.yield(path) }
        }
    }
}
