// This source file is part of the Optimist open source project, under the MIT licence.

import GRDB
@_spi(Internals) import OptimistServing
import Synchronization

/// Lets writes that arrive together share one disk commit.
///
/// While one transaction is being made durable, writes that arrive queue up, and the short ones share the next
/// transaction. Each is answered after the commit. A write that fails does not concern the others: if it had already
/// written something, the shared transaction is undone and all its writes run again alone, so that none needs a
/// savepoint.
package final class GroupCommit: Sendable {
    /// Called once the fate of the transaction is known, with its error if it failed.
    private typealias Answer = @Sendable (_ failure: (any Error)?) -> Void
    private struct Job: Sendable {
        var id: Int
        /// When it began to wait.
        var since: Duration
        /// Runs inside the open transaction, perhaps twice.
        var run: @Sendable (Database) -> (failure: (any Error)?, answer: Answer)
        /// Answers without having been run, or when that was in vain.
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
    /// The most writes that share a commit, and the time after which no other one joins, so that none waits long for its
    /// neighbours.
    private let maxJobs = 512
    private let maxSharedTime: Duration = .milliseconds(50)

    /// - Parameters:
    ///   - now: Tells how long a write has taken.
    ///   - metrics: Receives the size and the wait of each commit. Nil: nothing is measured.
    ///   - check: Called before each transaction. If it throws, the writes are answered with that error.
    init(
        writer: any DatabaseWriter, now: @escaping @Sendable () -> Duration = WorkBudget.stopwatch(),
        metrics: CommitMetrics? = nil, check: @escaping @Sendable () throws -> Void = {}
    ) {
        self.writer = writer
        self.now = now
        self.metrics = metrics
        self.check = check
    }

    /// Runs `work` in a transaction, and returns once that is durable.
    ///
    /// - Parameters:
    ///   - owner: The owner of the write. Owners take turns. Default: shared by all, for writes that are always short.
    ///   - work: May be run a second time, if another one failed beside it.
    /// - Throws: What `work` throws, and then nothing that it wrote is kept; or the error of the commit. If the task is
    ///   cancelled while the write waits, `CancellationError` at once, and `work` is never run. Once `work` has begun, it
    ///   has to notice by itself.
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
                // The handler below finds nothing if the task was cancelled before.
                if Task.isCancelled { leave(id, of: owner) }
            }
        } onCancel: {
            leave(id, of: owner)
        }
    }

    /// Refuses a write whose caller was cancelled, if it still waits.
    private func leave(_ id: Int, of owner: String) {
        let job = waiting.withLock { $0.jobs.remove(of: owner) { $0.id == id } }
        job?.refuse(nil)
    }

    /// How many writes wait for the next commit.
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

    /// Runs writes in one transaction, and answers them.
    ///
    /// - Parameter sharing: Whether others that wait may join.
    /// - Returns: The writes that have to run again alone, since one beside them failed after it had written something.
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
                    // SQLite ends the transaction by itself when the disk is full: nothing may be written after that.
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
            // It was given up for what it did itself, and would be again.
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
