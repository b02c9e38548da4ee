// This source file is part of the Optimist open source project, under the MIT licence.

public import OptimistSession
import Synchronization

/// A hint that a test gives by hand. Online until it says otherwise.
///
/// Whoever asks for ``updates`` is told at once what was said last, as by a real monitor.
public final class ManualReachability: Reachability {
    private struct State {
        var path = NetworkPath(isOnline: true)
        var continuations: [AsyncStream<NetworkPath>.Continuation] = []
    }

    private let state = Mutex(State())

    public init() {}

    public var updates: AsyncStream<NetworkPath> {
        AsyncStream(bufferingPolicy: .bufferingNewest(1)) { continuation in
            // Under the lock, so that no newer path comes before it. Yielding runs nobody's code.
            state.withLock { state in
                continuation.yield(state.path)
                state.continuations.append(continuation)
            }
        }
    }

    public func say(isOnline: Bool) { say(NetworkPath(isOnline: isOnline)) }

    public func say(_ path: NetworkPath) {
        state.withLock { state in
            state.path = path
            for continuation in state.continuations { continuation.yield(path) }
        }
    }
}
