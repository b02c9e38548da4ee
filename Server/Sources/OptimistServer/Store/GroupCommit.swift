// This source file is part of the Optimist open source project, under the MIT licence.

import GRDB
@_spi(Internals) import OptimistServing
import Synchronization

/// Commits writes that arrive together in one transaction.
///
/// While one transaction is being made durable, new writes queue up, and the short writes share the next transaction.
/// If a write fails after it changed the database, the shared transaction is rolled back and its writes run again one
/// by one, so the writes do not need savepoints.
package final class GroupCommit: Sendable {
    /// Called with the error of the transaction, or nil.
    private typealias Answer = @Sendable (_ failure: (any Error)?) -> Void
    private struct Job: Sendable {
        var id: Int
        var since: Duration
        /// Runs inside the open transaction, possibly twice.
        var run: @Sendable (Database) -> (failure: (any Error)?, answer: Answer)
        /// Answers a write that did not run or was rolled back.
        var refuse: Answer
    }
    private typealias Turn = WriteQueue<Job>.Turn

    private struct Waiting {
        var jobs = WriteQueue<Job>()
        var isDraining = false
        private var lastID = 0

        mutating func makeID() -> Int {
            lastID += 1
            return lastID
        }
    }

    private let writer: any DatabaseWriter
    private let now: @Sendable () -> Duration
    private let check: @Sendable () throws -> Void
    private let metrics: CommitMetrics?
    private let waiting = Mutex(Waiting())
    /// Further writes wait for the next transaction, so that no write waits long for its neighbours.
    private let maxJobs = 512
    private let maxSharedTime: Duration = .milliseconds(50)

    /// - Parameters:
    ///   - now: A clock for measuring writes.
    ///   - metrics: Nil measures nothing.
    ///   - check: Called before each transaction. If it throws, the waiting writes fail with that error.
    init(
        writer: any DatabaseWriter, now: @escaping @Sendable () -> Duration = WorkBudget.stopwatch(),
        metrics: CommitMetrics? = nil, check: @escaping @Sendable () throws -> Void = {}
    ) {
        self.writer = writer
        self.now = now
        self.metrics = metrics
        self.check = check
    }

    /// Runs `work` in a transaction and returns when it is durable.
    ///
    /// - Parameters:
    ///   - owner: Owners take turns. Default: one owner shared by all, for writes that are always short.
    ///   - work: May run a second time, if another write in the same transaction fails.
    /// - Throws: The error of `work`, whose changes are then rolled back, or the error of the commit. If the task is
    ///   cancelled before `work` starts, `CancellationError`. Once it has started, `work` must check for cancellation
    ///   itself.
    func write<Value: Sendable>(
        of owner: String = "", _ work: @escaping @Sendable (Database) throws -> Value
    ) async throws -> Value {
        let id = waiting.withLock { $0.makeID() }
        return try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { (continuation: CheckedContinuation<Value, any Error>) in
                let job = Job(id: id, since: metrics == nil ? .zero : now()) { db in
                    let result = Result { try work(db) }
                    let failure: (any Error)? = if case .failure(let error) = result { error } else { nil }
                    return (failure, { failure in continuation.resume(with: failure.map { .failure($0) } ?? result) })
                } refuse: { failure in
                    continuation.resume(throwing: failure ?? CancellationError())
                }
                add(job, of: owner)
                // If the task was cancelled earlier, the handler below ran before the job was added.
                if Task.isCancelled { leave(id, of: owner) }
            }
        } onCancel: {
            leave(id, of: owner)
        }
    }

    private func leave(_ id: Int, of owner: String) {
        let job = waiting.withLock { $0.jobs.remove(of: owner) { $0.id == id } }
        job?.refuse(nil)
    }

    var waitingCount: Int { waiting.withLock { $0.jobs.count } }

    private func add(_ job: Job, of owner: String) {
        let mustStart = waiting.withLock { waiting in
            waiting.jobs.add(job, of: owner)
            defer { waiting.isDraining = true }
            return !waiting.isDraining
        }
        if mustStart { writer.asyncWriteWithoutTransaction { db in self.drain(db) } }
    }

    private func drain(_ db: Database) {
        while let first = next() {
            for job in commit(first, sharing: true, db) { _ = commit(job, sharing: false, db) }
        }
    }

    private func next() -> Turn? {
        waiting.withLock { waiting in
            let turn = waiting.jobs.first()
            waiting.isDraining = turn != nil
            return turn
        }
    }

    /// - Parameter sharing: Whether other waiting writes may join the transaction.
    /// - Returns: The writes to run again one by one, because one failed after it had changed the database.
    private func commit(_ first: Turn, sharing: Bool, _ db: Database) -> [Turn] {
        var done: [(turn: Turn, answer: Answer)] = []
        var spoiler: (any Error)?
        let begun = now()
        do {
            try check()
            try db.inTransaction(.immediate) {
                var next: Turn? = first
                while let turn = next {
                    let (failure, answer, hasWritten) = run(turn, db, isNew: sharing)
                    done.append((turn, answer))
                    // If the disk is full, SQLite ends the transaction itself. Later writes would run outside of it.
                    guard db.isInsideTransaction else { throw failure ?? DatabaseError(resultCode: .SQLITE_ABORT) }
                    spoiler = hasWritten ? failure : nil
                    if spoiler != nil { return .rollback }
                    let isFull = done.count == maxJobs || now() - begun > maxSharedTime
                    next = sharing && !isFull ? waiting.withLock { $0.jobs.another() } : nil
                }
                return .commit
            }
        } catch {
            if done.isEmpty {
                if sharing { finished(first, after: .zero) }
                first.write.refuse(error)
            }
            for (turn, _) in done { turn.write.refuse(error) }
            return []
        }
        if let spoiler, done.count > 1 {
            // The write exceeded its own budget and would do so again.
            if spoiler is WorkStopped { done.removeLast().answer(nil) }
            return done.map(\.turn)
        }
        metrics?.committed(writes: done.count)
        for (_, answer) in done { answer(nil) }
        return []
    }

    private func run(
        _ turn: Turn, _ db: Database, isNew: Bool
    ) -> (failure: (any Error)?, answer: Answer, hasWritten: Bool) {
        let (before, begun) = (db.totalChangesCount, now())
        if isNew { metrics?.begun(after: begun - turn.write.since) }
        let (failure, answer) = turn.write.run(db)
        if isNew { finished(turn, after: now() - begun) }
        return (failure, answer, db.totalChangesCount != before)
    }

    private func finished(_ turn: Turn, after time: Duration) {
        waiting.withLock { $0.jobs.finished(turn, after: time) }
    }
}
