// This source file is part of the Optimist open source project, under the MIT licence.

import Synchronization

/// Distributes the devices' news. A slow follower misses the oldest news.
final class Newsroom: Sendable {
    private struct Follower {
        /// Nil follows all devices.
        let device: String?
        let continuation: AsyncStream<DeviceNews>.Continuation
    }

    private let state = Mutex((followers: [Int: Follower](), last: 0))

    /// Returns the news of one device, or of all current and future ones, and a closure that ends the stream.
    func follow(_ device: String? = nil) -> (news: AsyncStream<DeviceNews>, end: @Sendable () -> Void) {
        let (news, continuation) = AsyncStream.makeStream(of: DeviceNews.self, bufferingPolicy: .bufferingNewest(1_000))
        let id = state.withLock { state in
            state.last += 1
            state.followers[state.last] = Follower(device: device, continuation: continuation)
            return state.last
        }
        continuation.onTermination = { [weak self] _ in
            _ = self?.state.withLock { $0.followers.removeValue(forKey: id) }
        }
        return (news, { continuation.finish() })
    }

    func send(_ news: DeviceNews) {
        let followers = state.withLock { $0.followers.values.filter { $0.device == nil || $0.device == news.device } }
        for follower in followers { follower.continuation.yield(news) }
    }
}
