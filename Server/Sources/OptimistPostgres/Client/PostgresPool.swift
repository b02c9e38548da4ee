// This source file is part of the Optimist open source project, under the MIT licence.

import Dispatch
import Logging
import Metrics
import OptimistServer
import Synchronization

/// The connections of a process for its requests, each used by one thread at a time.
///
/// The pool opens a connection at its first use, and again after it breaks. If it breaks before the commit was sent, or
/// the server rolls the transaction back, the pool retries the work, because the transaction was not stored. It runs
/// work at most three times.
final class PostgresPool: Sendable {
    private final class Lane: Sendable {
        let queue: DispatchQueue
        let connection = Mutex<PostgresConnection?>(nil)
        init(_ number: Int) { queue = DispatchQueue(label: "optimist.postgres.\(number)") }
    }

    private struct Job: Sendable {
        var id: Int
        var run: @Sendable (Lane) -> Void
        var refuse: @Sendable (any Error) -> Void
    }

    private struct State {
        var jobs: TurnQueue<Job>
        var idle: [Lane]
        var lastID = 0
        /// Why the last attempt to connect failed, and when the pool may try again.
        var unreachable: (until: ContinuousClock.Instant, error: PostgresError)?
    }

    private let open: @Sendable () throws -> PostgresConnection
    private let logger: Logger
    private let wait: Timer?
    let size: Int
    private let state: Mutex<State>

    private static let attempts = 3
    /// How long requests that need a new connection fail immediately after a failed attempt to connect.
    private static let rest = Duration.milliseconds(250)

    /// - Parameters:
    ///   - size: The most connections, at least 1.
    ///   - maxWaiting: The most requests that may wait for a connection. Further ones are refused.
    ///   - wait: Records how long each job waits for a connection.
    ///   - open: Opens a connection that is ready for use. Called on the connection's own queue.
    init(
        size: Int, maxWaiting: Int, logger: Logger, wait: Timer? = nil,
        open: @escaping @Sendable () throws -> PostgresConnection
    ) {
        self.open = open
        self.logger = logger
        self.wait = wait
        self.size = max(1, size)
        state = Mutex(State(jobs: TurnQueue(limit: maxWaiting), idle: (0..<max(1, size)).map(Lane.init)))
    }

    /// Runs `work` on a connection, outside the event loops.
    ///
    /// - Parameters:
    ///   - owner: The person whom the work is for, or the operator. An owner's work runs serially, so that a busy
    ///     person uses one connection, and owners take turns. Nil: the work waits only for a connection.
    ///   - work: Runs up to three times.
    /// - Throws: The error of `work`, `CancellationError` if the task is cancelled before the work begins, or
    ///   ``PostgresError``. Work that has begun is not interrupted.
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
                let since = ContinuousClock.now
                let job = Job(id: id) { [self] lane in
                    wait?.record(duration: since.duration(to: .now))
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

    /// Runs `work` on the caller's thread, for a simulation that controls the order. No other thread may use the pool
    /// at the same time.
    func runNow<Value>(_ work: (PostgresConnection) throws -> Value) throws -> Value {
        let lane = state.withLock { $0.idle[0] }
        return try onLane(lane, work)
    }

    var waitingCount: Int { state.withLock { $0.jobs.count } }

    var figures: StorageFigures.Pool {
        StorageFigures.Pool(size: size, busy: size - state.withLock(\.idle.count))
    }

    private func leave(_ id: Int, of owner: String) {
        let job = state.withLock { $0.jobs.remove(of: owner) { $0.id == id } }
        job?.refuse(CancellationError())
    }

    private func add(_ job: Job, of owner: String) {
        let (lane, isFull) = state.withLock { state -> (Lane?, Bool) in
            guard state.jobs.add(job, of: owner, isTakenAtOnce: !state.idle.isEmpty) else { return (nil, true) }
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

    /// Logs only the error's code, because its message may quote rows.
    private func note(_ error: PostgresError) {
        let code = error.state ?? "\(error.kind)"
        logger.warning("The database failed", metadata: ["postgres.code": "\(code)"])
    }
}

/// The jobs that wait for a connection, by owner. Owners take turns, and each has at most one running job.
struct TurnQueue<Job: Sendable>: Sendable {
    private var lines: [String: ArraySlice<Job>] = [:]
    private var ready: ArraySlice<String> = []
    private var running: Set<String> = []
    private(set) var count = 0
    private let limit: Int

    init(limit: Int) { self.limit = limit }

    /// Adds a job after its owner's other jobs, or returns false if the queue is full.
    mutating func add(_ job: Job, of owner: String, isTakenAtOnce: Bool = false) -> Bool {
        guard count < limit || isTakenAtOnce else { return false }
        if lines[owner] == nil, !running.contains(owner) { ready.append(owner) }
        lines[owner, default: []].append(job)
        count += 1
        return true
    }

    /// Takes the next job whose owner has no running one.
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

    /// Lets the owner's next job run. Must be called after each job that ``next()`` returned.
    mutating func finished(_ owner: String) {
        running.remove(owner)
        if lines[owner] != nil { ready.append(owner) }
    }

    /// Removes a waiting job. Nil: it was already taken.
    mutating func remove(of owner: String, where isMeant: (Job) -> Bool) -> Job? {
        guard let index = lines[owner]?.firstIndex(where: isMeant) else { return nil }
        count -= 1
        return lines[owner]?.remove(at: index)
    }
}
