// This source file is part of the Optimist open source project, under the MIT licence.

import GRDB
import Synchronization

/// Lets writes that arrive together share one disk commit.
///
/// While one transaction is being made durable, those that arrive queue up, and all of them go into the next one. Each is
/// answered after the commit. One that fails is nobody else's concern: if it had already written something, the shared
/// transaction is undone and everybody in it runs again alone, so there need be no savepoint for each.
package final class GroupCommit: Sendable {
    /// Called once the fate of the transaction is known, with its error if it failed.
    private typealias Answer = @Sendable (_ failure: (any Error)?) -> Void
    private struct Job: Sendable {
        /// Runs inside the open transaction, perhaps twice.
        var run: @Sendable (Database) -> (failure: (any Error)?, answer: Answer)
        /// Answers without having been run, or when that was in vain.
        var refuse: Answer
    }

    private struct Waiting {
        var jobs: [Job] = []
        var isDraining = false
    }

    private let writer: any DatabaseWriter
    private let waiting = Mutex(Waiting())
    /// The most writes that share a commit, so that none waits long for its neighbours.
    private let maxJobs = 512

    init(writer: any DatabaseWriter) { self.writer = writer }

    /// Runs `work` in a transaction, and returns once that is durable.
    ///
    /// - Parameter work: May be run a second time, if another one failed beside it.
    /// - Throws: What `work` throws, and then nothing that it wrote is kept; or the error of the commit.
    func write<Value: Sendable>(_ work: @escaping @Sendable (Database) throws -> Value) async throws -> Value {
        try await withCheckedThrowingContinuation { (continuation: CheckedContinuation<Value, any Error>) in
            let job = Job { db in
                let result = Result { try work(db) }
                let failure: (any Error)? = if case .failure(let error) = result { error } else { nil }
                return (failure, { failure in continuation.resume(with: failure.map { .failure($0) } ?? result) })
            } refuse: { failure in
                continuation.resume(throwing: failure ?? CancellationError())
            }
            add(job)
        }
    }

    /// How many writes wait for the next commit.
    var waitingCount: Int { waiting.withLock { $0.jobs.count } }

    private func add(_ job: Job) {
        let mustStart = waiting.withLock { waiting in
            waiting.jobs.append(job)
            defer { waiting.isDraining = true }
            return !waiting.isDraining
        }
        if mustStart { writer.asyncWriteWithoutTransaction { db in self.drain(db) } }
    }

    private func drain(_ db: Database) {
        while true {
            let jobs = waiting.withLock { waiting in
                let jobs = waiting.jobs.prefix(maxJobs)
                waiting.jobs.removeFirst(jobs.count)
                waiting.isDraining = !jobs.isEmpty
                return jobs
            }
            if jobs.isEmpty { return }
            if !commit(jobs, db) {
                for job in jobs { _ = commit([job], db) }
            }
        }
    }

    /// Runs the jobs in one transaction, and answers them.
    ///
    /// - Returns: False if one of several failed after it had written something. Then all is undone and nobody answered.
    private func commit(_ jobs: ArraySlice<Job>, _ db: Database) -> Bool {
        var answers: [Answer] = []
        var isSpoilt = false
        do {
            try db.inTransaction(.immediate) {
                for job in jobs {
                    let before = db.totalChangesCount
                    let (failure, answer) = job.run(db)
                    answers.append(answer)
                    // SQLite ends the transaction by itself when the disk is full: nothing may be written after that.
                    guard db.isInsideTransaction else { throw failure ?? DatabaseError(resultCode: .SQLITE_ABORT) }
                    isSpoilt = failure != nil && db.totalChangesCount != before
                    if isSpoilt { return .rollback }
                }
                return .commit
            }
        } catch {
            for job in jobs { job.refuse(error) }
            return true
        }
        if isSpoilt, jobs.count > 1 { return false }
        for answer in answers { answer(nil) }
        return true
    }
}
