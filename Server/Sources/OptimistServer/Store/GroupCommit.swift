// This source file is part of the Optimist open source project, under the MIT licence.

import GRDB
import Synchronization

/// Lets writes that arrive together share one disk commit.
///
/// While one transaction is being made durable, those that arrive queue up, and all of them go into the next one. Each
/// runs in a savepoint of its own and is answered after the commit, so a failure is nobody else's.
final class GroupCommit: Sendable {
    /// Called once the fate of the transaction is known, with its error if it failed.
    private typealias Answer = @Sendable (_ failure: (any Error)?) -> Void
    /// Runs inside the open transaction.
    private typealias Job = @Sendable (Database) -> Answer

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
    func write<Value: Sendable>(_ work: @escaping @Sendable (Database) throws -> Value) async throws -> Value {
        try await withCheckedThrowingContinuation { (continuation: CheckedContinuation<Value, any Error>) in
            add { db in
                let result = Result { try db.savepoint { try work(db) } }
                return { failure in continuation.resume(with: failure.map { .failure($0) } ?? result) }
            }
        }
    }

    /// How many writes wait for the next commit.
    var waitingCount: Int { waiting.withLock { $0.jobs.count } }

    private func add(_ job: @escaping Job) {
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
            commit(jobs, db)
        }
    }

    /// Without an open transaction, each job's savepoint refuses to run it: see ``GRDB/Database/savepoint(_:)``.
    private func commit(_ jobs: ArraySlice<Job>, _ db: Database) {
        var answers: [Answer] = []
        do {
            try db.inTransaction(.immediate) {
                answers = jobs.map { $0(db) }
                return .commit
            }
            for answer in answers { answer(nil) }
        } catch {
            if answers.isEmpty { answers = jobs.map { $0(db) } }
            for answer in answers { answer(error) }
        }
    }
}

extension Database {
    /// Runs `work` in a savepoint, which is undone when it throws.
    ///
    /// Throws without running it when no transaction is open: SQLite ends one by itself when the disk is full, and
    /// `inSavepoint` would then open and commit another.
    fileprivate func savepoint<Value>(_ work: () throws -> Value) throws -> Value {
        guard isInsideTransaction else {
            throw DatabaseError(resultCode: .SQLITE_ABORT, message: "no open transaction")
        }
        var value: Value?
        try inSavepoint {
            value = try work()
            return .commit
        }
        guard let value else { throw DatabaseError(resultCode: .SQLITE_ABORT) }
        return value
    }
}
