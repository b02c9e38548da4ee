// This source file is part of the Optimist open source project, under the MIT licence.

public import OptimistSession
import Synchronization

/// A hint that a test gives by hand. Online until it says otherwise.
public final class ManualReachability: Reachability {
    private let continuations = Mutex<[AsyncStream<NetworkPath>.Continuation]>([])

    public init() {}

    public var updates: AsyncStream<NetworkPath> {
        AsyncStream(bufferingPolicy: .bufferingNewest(1)) { continuation in
            continuation.yield(NetworkPath(isOnline: true))
            continuations.withLock { $0.append(continuation) }
        }
    }

    public func say(isOnline: Bool) { say(NetworkPath(isOnline: isOnline)) }

    public func say(_ path: NetworkPath) {
        for continuation in continuations.withLock({ $0 }) { continuation.yield(path) }
    }
}
