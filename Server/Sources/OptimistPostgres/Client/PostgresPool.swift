// This source file is part of the Optimist open source project, under the MIT licence.

import Dispatch
import Logging
import Synchronization

/// Some connections to a database, each used by one thread at a time.
///
/// A connection is opened when it is first needed, and again when it broke. A transaction that broke before its commit was sent
/// is run again, because nothing of it was kept.
final class PostgresPool: Sendable {
    /// One connection and the thread that uses it.
    private final class Lane: Sendable {
        let queue: DispatchQueue
        let connection = Mutex<PostgresConnection?>(nil)
        init(_ number: Int) { queue = DispatchQueue(label: "optimist.postgres.\(number)") }
    }

    private struct Job: Sendable {
        var id: Int
        /// Runs on a connection, perhaps more than once, and answers. Nil: the job was taken back.
        var run: @Sendable (Lane) -> Void
        var refuse: @Sendable (any Error) -> Void
    }

    private struct State {
        var jobs: TurnQueue<Job>
        var idle: [Lane]
        var lastID = 0
        /// When and why no connection could be made last.
        var unreachable: (until: ContinuousClock.Instant, error: PostgresError)?
    }

    private let open: @Sendable () throws -> PostgresConnection
    private let logger: Logger
    private let state: Mutex<State>

    /// How often a transaction is run in all.
    private static let attempts = 3
    /// For how long a database that could not be reached is not asked again, so that requests are refused at once.
    private static let rest = Duration.milliseconds(250)

    /// - Parameters:
    ///   - size: How many connections at most.
    ///   - maxWaiting: How many requests may wait for a connection. Further ones are refused.
    ///   - open: Opens a connection, ready for use.
    init(
        size: Int, maxWaiting: Int, logger: Logger, open: @escaping @Sendable () throws -> PostgresConnection
    ) {
        self.open = open
        self.logger = logger
        state = Mutex(State(jobs: TurnQueue(limit: maxWaiting), idle: (0..<size).map(Lane.init)))
    }

    /// Runs `work` on a connection, outside the event loops.
    ///
    /// - Parameters:
    ///   - owner: Whose turn it is. The work of one owner runs one after another, so that a busy account takes one connection.
    ///     Nil: nobody's, and it waits for no other.
    ///   - work: May be run more than once, if the connection breaks or the server takes the transaction back.
    /// - Throws: What `work` throws, `CancellationError` if the task is cancelled while it waits, or ``PostgresError``.
    func run<Value: Sendable>(
        of owner: String? = nil, _ work: @escaping @Sendable (PostgresConnection) throws -> Value
    ) async throws -> Value {
        let id = state.withLock { state in
            state.lastID += 1
            return state.lastID
        }
        let owner = owner ?? "#\(id)"
        return try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { (continuation: CheckedContinuation<Value, any Error>) in
                let job = Job(id: id) { [self] lane in
                    continuation.resume(with: Result { try onLane(lane, work) })
                } refuse: {
                    continuation.resume(throwing: $0)
                }
                add(job, of: owner)
                if Task.isCancelled { leave(id, of: owner) }
            }
        } onCancel: {
            leave(id, of: owner)
        }
    }

    /// Runs `work` on the caller's thread, for a simulation that decides the order. Nobody else may use the pool meanwhile.
    func runNow<Value>(_ work: (PostgresConnection) throws -> Value) throws -> Value {
        let lane = state.withLock { $0.idle[0] }
        return try onLane(lane, work)
    }

    /// How many requests wait for a connection.
    var waitingCount: Int { state.withLock { $0.jobs.count } }

    private func leave(_ id: Int, of owner: String) {
        let job = state.withLock { $0.jobs.remove(of: owner) { $0.id == id } }
        job?.refuse(CancellationError())
    }

    private func add(_ job: Job, of owner: String) {
        let (lane, isFull) = state.withLock { state -> (Lane?, Bool) in
            guard state.jobs.add(job, of: owner) else { return (nil, true) }
            return (state.idle.popLast(), false)
        }
        if isFull { return job.refuse(PostgresError(.exhausted)) }
        if let lane { lane.queue.async { self.drain(lane) } }
    }

    private func drain(_ lane: Lane) {
        while let turn = next(lane) {
            turn.job.run(lane)
            state.withLock { $0.jobs.finished(turn.owner) }
        }
    }

    private func next(_ lane: Lane) -> (owner: String, job: Job)? {
        state.withLock { state in
            let turn = state.jobs.next()
            if turn == nil { state.idle.append(lane) }
            return turn
        }
    }

    private func onLane<Value>(_ lane: Lane, _ work: (PostgresConnection) throws -> Value) throws -> Value {
        try lane.connection.withLock { connection in
            var attempt = 1
            while true {
                do {
                    let present = try connection ?? connected()
                    connection = present
                    return try work(present)
                } catch let error as PostgresError {
                    note(error)
                    if error.endsConnection { connection = nil }
                    guard error.isTransient, attempt < Self.attempts else { throw error }
                    attempt += 1
                }
            }
        }
    }

    private func connected() throws -> PostgresConnection {
        if let last = state.withLock(\.unreachable), ContinuousClock.now < last.until { throw last.error }
        do {
            let connection = try open()
            state.withLock { $0.unreachable = nil }
            return connection
        } catch let error as PostgresError {
            state.withLock { $0.unreachable = (ContinuousClock.now + Self.rest, error) }
            throw error
        }
    }

    /// The server's words may quote rows, so only its code is logged.
    private func note(_ error: PostgresError) {
        let code = error.state ?? "\(error.kind)"
        logger.warning("The database failed", metadata: ["postgres.code": "\(code)"])
    }
}

/// What waits for a connection, by owner. Owners take turns, and each has one at a time.
struct TurnQueue<Job: Sendable>: Sendable {
    private var lines: [String: ArraySlice<Job>] = [:]
    /// The owners with something that waits and nothing that runs, the next one first.
    private var ready: ArraySlice<String> = []
    private var running: Set<String> = []
    private(set) var count = 0
    private let limit: Int

    init(limit: Int) { self.limit = limit }

    /// - Returns: False, and nothing is added: as many wait as may.
    mutating func add(_ job: Job, of owner: String) -> Bool {
        guard count < limit else { return false }
        if lines[owner] == nil, !running.contains(owner) { ready.append(owner) }
        lines[owner, default: []].append(job)
        count += 1
        return true
    }

    mutating func next() -> (owner: String, job: Job)? {
        while let owner = ready.popFirst() {
            guard let job = lines[owner]?.popFirst() else {
                lines[owner] = nil
                continue
            }
            if lines[owner]?.isEmpty == true { lines[owner] = nil }
            running.insert(owner)
            count -= 1
            return (owner, job)
        }
        return nil
    }

    /// Has to be told of each job that was taken, and then its owner's next one may come.
    mutating func finished(_ owner: String) {
        running.remove(owner)
        if lines[owner] != nil { ready.append(owner) }
    }

    /// Takes out a job that still waits. Nil: it was taken before.
    mutating func remove(of owner: String, where isMeant: (Job) -> Bool) -> Job? {
        guard let index = lines[owner]?.firstIndex(where: isMeant) else { return nil }
        count -= 1
        return lines[owner]?.remove(at: index)
    }
}
