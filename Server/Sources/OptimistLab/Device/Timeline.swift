// This source file is part of the Optimist open source project, under the MIT licence.

import Foundation
import Synchronization

/// What happened on one device, for the page and for whoever automates the lab.
struct TimelineEvent: Codable, Sendable, Equatable {
    enum Kind: String, Codable, Sendable {
        case write, shown, sent, accepted, merged, rejected, received, seen, network, crash, restart, session
    }

    var at: Date
    /// Milliseconds since the lab started.
    var ms: Double
    var kind: Kind
    var device: String
    /// The row's id.
    var row: String?
    var text: String?
}

/// What one device tells its followers.
enum DeviceNews: Sendable {
    case timeline(TimelineEvent)
    /// What may have changed: todos, outbox, rejections, status, device, session.
    case changed(Set<String>)
}

/// Hands a device's news to its followers. A follower that is slow misses the oldest.
final class NewsDesk: Sendable {
    private struct State {
        var followers: [Int: AsyncStream<DeviceNews>.Continuation] = [:]
        var next = 0
    }

    private let device: String
    private let started: ContinuousClock.Instant
    private let state = Mutex(State())

    init(device: String, started: ContinuousClock.Instant) {
        self.device = device
        self.started = started
    }

    /// Returns the news from now on, and what ends them.
    func follow() -> (news: AsyncStream<DeviceNews>, end: @Sendable () -> Void) {
        let (news, continuation) = AsyncStream.makeStream(of: DeviceNews.self, bufferingPolicy: .bufferingNewest(1_000))
        let id = state.withLock { state in
            state.next += 1
            state.followers[state.next] = continuation
            return state.next
        }
        continuation.onTermination = { [weak self] _ in
            _ = self?.state.withLock { $0.followers.removeValue(forKey: id) }
        }
        return (news, { continuation.finish() })
    }

    func tell(_ kind: TimelineEvent.Kind, _ text: String? = nil, row: UUID? = nil) {
        let elapsed = started.duration(to: .now)
        send(
            .timeline(
                TimelineEvent(
                    at: Date(), ms: elapsed / .milliseconds(1), kind: kind, device: device,
                    row: row?.uuidString.lowercased(), text: text)))
    }

    func changed(_ what: String...) { send(.changed(Set(what))) }

    private func send(_ news: DeviceNews) {
        for follower in state.withLock({ Array($0.followers.values) }) { follower.yield(news) }
    }
}
