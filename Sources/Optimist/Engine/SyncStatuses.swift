// This source file is part of the Optimist open source project, under the MIT licence.

import GRDB
import Logging
import OptimistCore

/// The status of a sync engine: now, and whenever it changes.
///
/// The sequence never ends by itself, and two consecutive statuses are never equal. Any number of tasks may follow it.
/// A slow task skips statuses, but no task sees an older status after a newer one, and the last status always arrives.
public final class SyncStatuses: AsyncSequence, Sendable {
    /// The status of sync.
    public typealias Element = SyncStatus
    /// The sequence never throws.
    public typealias Failure = Never

    private struct State {
        var phase = SyncStatus.Phase.stopped
        var withheld: [String: WithheldReason] = [:]
        var isCaughtUp = false
    }

    private let store: Store
    private let counting: StatusCounting
    /// The tables of the person's own account and of each space, in snapshot order.
    private let own, shared: [String]
    private let state = Mutex(State())

    init(store: Store) {
        self.store = store
        counting = StatusCounting(store: store)
        own = store.ownTables
        shared = store.sharedTables
    }

    /// The current status.
    ///
    /// - Throws: `DatabaseError` if the counts cannot be read.
    public func current() async throws -> SyncStatus {
        let state = state.withLock { $0 }
        return try await store.read { db in
            let served = self.own.filter { state.withheld[$0] == nil }
            let counts = try SyncCounts.fetch(db, of: store.layouts)
            return SyncStatus(
                phase: try self.phase(state, counts, db), counts: counts,
                progress: SyncProgress(try self.progress(of: served, db)),
                withheld: state.withheld,
                deferred: try WaitTable(db).summary(of: store.layouts),
                isCaughtUp: state.isCaughtUp)
        }
    }

    /// How far each table was received, in the person's own account and in each space.
    private func progress(of served: [String], _ db: Database) throws -> [TableProgress] {
        let own = try ProgressTable(db).fetchAll(served)
        if !store.hasSpaces { return own }
        // The remote does not keep tables that are complete without a cursor.
        let skipped = Set(own.filter { $0.isComplete && $0.cursor == nil }.map(\.table))
        let shared = shared.filter { !skipped.contains($0) }
        if try Scope.haveArrived(shared, in: db) { return own }
        return own + (try Scope.spaces(nil, shared, in: db)).flatMap(\.tableProgress)
    }

    /// The machine is idle while rows wait, and until it learns of a write. So with pending rows, the status is
    /// `deferred` or `syncing` instead.
    private func phase(_ state: State, _ counts: SyncCounts, _ db: Database) throws -> SyncStatus.Phase {
        guard state.phase == .idle, counts.pending > 0 else { return state.phase }
        let sendable = try SendableUnits(
            db, at: store.correctedMilliseconds, of: store.layouts, withheld: store.withheld(Set(state.withheld.keys)))
        return try sendable.next(limit: 1).isEmpty ? .deferred : .syncing
    }

    /// After a disk error, retries every second, because there may be no further change to wait for. Logs the first
    /// error. Nil if the task was cancelled, or the store is closed.
    func whenReadable() async -> SyncStatus? {
        var isLogged = false
        while !Task.isCancelled, !store.isClosed {
            do { return try await current() } catch {
                if !isLogged, !Task.isCancelled, !store.isClosed {
                    store.logger.error("status.unreadable", metadata: ["error": "\(error.withoutValues)"])
                }
                isLogged = true
            }
            try? await store.dependencies.clock.sleep(for: .seconds(1))
        }
        return nil
    }

    func show(_ phase: SyncStatus.Phase, isCaughtUp: Bool = false) {
        state.withLock { state in
            state.phase = phase
            state.isCaughtUp = isCaughtUp
        }
        store.changes.send()
    }

    func show(withheld tables: [String: WithheldReason]) {
        let isNews = state.withLock { state in
            defer { state.withheld = tables }
            return state.withheld != tables
        }
        if isNews { store.changes.send() }
    }

    public func makeAsyncIterator() -> Iterator { Iterator(statuses: self, followed: counting.follow(self)) }

    /// Follows the status until the iterating task is cancelled.
    public struct Iterator: AsyncIteratorProtocol {
        /// Keeps the statuses alive, because `counting` does not.
        private let statuses: SyncStatuses
        private let followed: AsyncStream<SyncStatus>
        private var last: SyncStatus?

        init(statuses: SyncStatuses, followed: AsyncStream<SyncStatus>) {
            self.statuses = statuses
            self.followed = followed
        }

        public mutating func next() async -> SyncStatus? { await next(isolation: #isolation) }

        public mutating func next(isolation actor: isolated (any Actor)?) async -> SyncStatus? {
            var following = followed.makeAsyncIterator()
            while let status = await following.next() {
                if status == last { continue }
                last = status
                return status
            }
            return nil
        }
    }
}
