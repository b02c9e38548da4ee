// This source file is part of the Optimist open source project, under the MIT licence.

import OptimistCore
import Synchronization

/// The status of a sync engine: now, and whenever it changes. Never ends by itself, and never repeats itself.
///
/// Any number of tasks may follow it. A slow one skips states; the last one always arrives.
public final class SyncStatuses: AsyncSequence, Sendable {
    public typealias Element = SyncStatus
    public typealias Failure = Never

    private struct State {
        var phase = SyncStatus.Phase.idle
        var upgradeRequired: Set<String> = []
    }

    private let store: Store
    private let counting: StatusCounting
    private let order: [String]
    private let state = Mutex(State())

    init(store: Store) {
        self.store = store
        counting = StatusCounting(store: store)
        order = SnapshotOrder.sorted(store.layouts).map(\.name)
    }

    /// The status of the moment.
    ///
    /// - Throws: `DatabaseError` if the counts cannot be read.
    public func current() async throws -> SyncStatus {
        let state = state.withLock { $0 }
        return try await store.read { db in
            let served = self.order.filter { !state.upgradeRequired.contains($0) }
            return SyncStatus(
                phase: state.phase, counts: try SyncCounts.fetch(db, of: store.layouts),
                progress: SyncProgress(try Intake.fetchAll(served, in: db)), upgradeRequired: state.upgradeRequired)
        }
    }

    func show(_ phase: SyncStatus.Phase) {
        state.withLock { $0.phase = phase }
        store.changes.send()
    }

    func show(upgradeRequired tables: Set<String>) {
        let isNews = state.withLock { state in
            defer { state.upgradeRequired = tables }
            return state.upgradeRequired != tables
        }
        if isNews { store.changes.send() }
    }

    public func makeAsyncIterator() -> Iterator { Iterator(statuses: self, followed: counting.follow(self)) }

    public struct Iterator: AsyncIteratorProtocol {
        private let statuses: SyncStatuses
        private var followed: AsyncStream<SyncStatus>.Iterator
        private var last: SyncStatus?

        init(statuses: SyncStatuses, followed: AsyncStream<SyncStatus>) {
            self.statuses = statuses
            self.followed = followed.makeAsyncIterator()
        }

        public mutating func next() async -> SyncStatus? { await next(isolation: #isolation) }

        /// Counts that cannot be read for now, for a trouble of the disk's, are read again a second later.
        public mutating func next(isolation actor: isolated (any Actor)?) async -> SyncStatus? {
            while last == nil, !Task.isCancelled {
                last = try? await statuses.current()
                if let first = last { return first }
                try? await statuses.store.surroundings.clock.sleep(for: StatusCounting.pauseAfterTrouble)
            }
            while let status = await followed.next(isolation: actor) {
                if status == last { continue }
                last = status
                return status
            }
            return nil
        }
    }
}
