// This source file is part of the Optimist open source project, under the MIT licence.

import OptimistSession
import Synchronization

/// A phone's reachability, as set by the lab.
final class LabNetwork: Reachability {
    private struct State {
        var isOnline = true
        var followers: [Int: AsyncStream<NetworkPath>.Continuation] = [:]
        var last = 0
    }

    private let state = Mutex(State())

    var updates: AsyncStream<NetworkPath> {
        AsyncStream(bufferingPolicy: .bufferingNewest(1)) { continuation in
            let id = state.withLock { state in
                continuation.yield(NetworkPath(isOnline: state.isOnline))
                state.last += 1
                state.followers[state.last] = continuation
                return state.last
            }
            continuation.onTermination = { [weak self] _ in
                _ = self?.state.withLock { $0.followers.removeValue(forKey: id) }
            }
        }
    }

    func say(isOnline: Bool) {
        let followers = state.withLock { state in
            state.isOnline = isOnline
            return state.followers.values.map(\.self)
        }
        for follower in followers { follower.yield(NetworkPath(isOnline: isOnline)) }
    }
}
