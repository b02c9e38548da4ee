// This source file is part of the Optimist open source project, under the MIT licence.

import OptimistCore

/// Reads the status once per change, for all followers, so that no follower sees an older status after a newer one.
///
/// Counting takes time proportional to the pending rows. If 10,000 or more rows are pending, a pause follows each
/// count, so that a long outbox is not counted after each push. The last state always arrives.
final class StatusCounting: Sendable {
    private struct State {
        var followers: [Int: AsyncStream<SyncStatus>.Continuation] = [:]
        var nextID = 0
        var task: Task<Void, Never>?
    }

    private let store: Store
    private let state = Mutex(State())

    init(store: Store) { self.store = store }

    /// Buffers only the newest status. The stream ends when its consumer is cancelled.
    func follow(_ statuses: SyncStatuses) -> AsyncStream<SyncStatus> {
        // Triggers the first status. A running count may have begun before the latest write.
        defer { store.changes.send() }
        return AsyncStream(bufferingPolicy: .bufferingNewest(1)) { continuation in
            let id = state.withLock { state in
                state.nextID += 1
                state.followers[state.nextID] = continuation
                if state.task == nil { state.task = start(statuses) }
                return state.nextID
            }
            continuation.onTermination = { [weak self] _ in self?.leave(id) }
        }
    }

    private func leave(_ id: Int) {
        let idle = state.withLock { state in
            state.followers[id] = nil
            if !state.followers.isEmpty { return nil as Task<Void, Never>? }
            defer { state.task = nil }
            return state.task
        }
        idle?.cancel()
    }

    private func start(_ statuses: SyncStatuses) -> Task<Void, Never> {
        let (changes, clock) = (store.changes.stream(), store.dependencies.clock)
        return store.dependencies.spawn { [weak self, weak statuses] in
            for await _ in changes {
                let followers = self?.followers ?? []
                guard let status = await statuses?.whenReadable() else { continue }
                for follower in followers { follower.yield(status) }
                if let pause = Self.pause(after: status.counts.pending) { try? await clock.sleep(for: pause) }
            }
        }
    }

    private var followers: [AsyncStream<SyncStatus>.Continuation] { state.withLock { Array($0.followers.values) } }

    /// About ten times the counting time. Nil: no pause.
    static func pause(after pending: Int) -> Duration? { pending < 10_000 ? nil : .nanoseconds(pending * 200) }
}
