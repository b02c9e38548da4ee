// This source file is part of the Optimist open source project, under the MIT licence.

import OptimistCore

/// Runs asynchronous code in an order that a seed determines: on one thread, in virtual time, without waiting.
///
/// All ready jobs are in one list, and the seed picks the next one. Time stands still while a job is ready, and then
/// jumps to the next timer. So a day passes in a second, and the same seed gives the same run. This requires that the
/// code takes time, randomness, ids and tasks from its `Dependencies`, and does not depend on the order of a `Set` or
/// `Dictionary` (the environment variable `SWIFT_DETERMINISTIC_HASHING=1` also fixes that order).
///
/// ```swift
/// let scheduler = SimulatedScheduler(seed: 7)
/// let phone = scheduler.process("phone")
/// phone.spawn { … }
/// scheduler.run(for: .seconds(60))
/// ```
///
/// Create it, use it and end it on one thread. A job that arrives from another thread has escaped the simulation, and
/// stops the program with a message that explains this.
@available(macOS 15, iOS 18, tvOS 18, watchOS 11, visionOS 2, *)
@_spi(Internals) public final class SimulatedScheduler: Sendable {
    private struct Ready {
        let job: UnownedJob
        let process: SimulatedProcess
    }

    private struct State {
        var ready: [Ready] = []
        /// The jobs of dead processes, which run at the end of the simulation to free their memory.
        var limbo: [Ready] = []
        var timers = TimerQueue<@Sendable () -> Void>()
        var now = Duration.zero
        var skippedSeconds = 0.0
        var random: SplitMix64
        var steps = 0
        var trace = Trace()
        var lastProcess = 0
        var sleepers = Sleepers()
        var thread: ThreadID?
        var isOver = false
    }

    private let state: Mutex<State>

    /// - Parameter seed: Determines the order of jobs, and nothing else.
    public init(seed: UInt64) { state = Mutex(State(random: SplitMix64(seed: seed))) }

    /// The virtual time since the start.
    public var now: Duration { state.withLock { $0.now } }
    /// The seconds added by ``skip(seconds:)``.
    var skippedSeconds: Double { state.withLock { $0.skippedSeconds } }
    /// The number of jobs that have run. A job is the code of a task between two suspensions.
    public var steps: Int { state.withLock { $0.steps } }
    /// A digest of all decisions so far. It is equal for two runs that took the same course.
    public var trace: UInt64 { state.withLock { $0.trace.digest } }

    /// Adds a value to the trace, such as a digest of a message.
    public func note(_ value: UInt64) { state.withLock { $0.trace.note(value) } }

    /// Creates a process, which runs tasks and can be killed.
    public func process(_ name: String) -> SimulatedProcess {
        let number = state.withLock { state in
            state.lastProcess += 1
            return state.lastProcess
        }
        return SimulatedProcess(name: name, number: number, scheduler: self)
    }

    /// Calls a closure after a delay. The call does not belong to a process, so no kill prevents it.
    public func after(_ delay: Duration, _ action: @escaping @Sendable () -> Void) {
        state.withLock { $0.timers.add(action, due: $0.now + max(delay, .zero)) }
    }

    /// Advances every wall clock, as if all devices had been switched off. Virtual time does not pass, so no timer
    /// fires.
    ///
    /// - Parameter seconds: Must be greater than zero.
    public func skip(seconds: Double) { state.withLock { $0.skippedSeconds += max(0, seconds) } }

    // MARK: - Running

    /// Runs for a duration, or until no job is ready and no timer is due within it.
    ///
    /// - Parameters:
    ///   - duration: Virtual time.
    ///   - isDone: Called after each job. If it returns true, the run ends early.
    /// - Returns: The last result of `isDone`.
    @discardableResult
    public func run(for duration: Duration, until isDone: () -> Bool = { false }) -> Bool {
        let end = now + duration
        state.withLock { $0.thread = .current }
        defer { state.withLock { $0.thread = nil } }
        while true {
            if isDone() { return true }
            if let next = takeReady() {
                run(next)
            } else if !fireNextTimer(upTo: end) {
                state.withLock { $0.now = end }
                return isDone()
            }
        }
    }

    private func takeReady() -> Ready? {
        state.withLock { state in
            guard !state.ready.isEmpty else { return nil }
            let index =
                state.ready.count == 1 ? 0 : Int(state.random.next() % UInt64(state.ready.count))
            state.ready.swapAt(index, state.ready.count - 1)
            let next = state.ready.removeLast()
            if state.isOver { return next }
            state.trace.note(UInt64(index) << 32 | UInt64(next.process.number))
            return next
        }
    }

    private func run(_ next: Ready) {
        let isOver = state.withLock { $0.isOver }
        guard isOver || next.process.mayRunJob() else {
            return state.withLock { $0.limbo.append(next) }
        }
        state.withLock { $0.steps += 1 }
        next.job.runSynchronously(
            isolatedTo: next.process.asUnownedSerialExecutor(), taskExecutor: next.process.asUnownedTaskExecutor())
    }

    private func fireNextTimer(upTo end: Duration) -> Bool {
        let action = state.withLock { state -> (@Sendable () -> Void)? in
            guard let due = state.timers.nextDue, due <= end, let timer = state.timers.removeFirst() else { return nil }
            state.now = max(state.now, due)
            return timer.content
        }
        action?()
        return action != nil
    }

    func enqueue(_ job: UnownedJob, _ process: SimulatedProcess) {
        state.withLock { state in
            precondition(
                state.thread == nil || state.thread == .current,
                "A job arrived from another thread: some code uses a real clock, task or queue.")
            state.ready.append(Ready(job: job, process: process))
        }
    }

    // MARK: - Sleeping

    func sleep(until deadline: Duration, in process: SimulatedProcess) async throws {
        let id = state.withLock { $0.sleepers.newID() }
        try await withTaskCancellationHandler {
            try await withUnsafeThrowingContinuation { (wake: UnsafeContinuation<Void, any Error>) in
                fallAsleep(id, until: deadline, in: process, wake)
            }
        } onCancel: {
            state.withLock { $0.sleepers.cancel(id) }?.resume(throwing: CancellationError())
        }
    }

    private func fallAsleep(
        _ id: Int, until deadline: Duration, in process: SimulatedProcess, _ wake: UnsafeContinuation<Void, any Error>
    ) {
        let isCancelled = state.withLock { state in
            if state.isOver || !state.sleepers.add(id, wake) { return true }
            let action: @Sendable () -> Void = { [weak self] in
                guard process.isAlive else { return }
                self?.state.withLock { $0.sleepers.remove(id) }?.resume()
            }
            state.timers.add(action, due: max(deadline, state.now))
            return false
        }
        if isCancelled { wake.resume(throwing: CancellationError()) }
    }

    // MARK: - The end

    /// Ends the simulation: cancels every task of every process, including dead processes, and runs the tasks to their
    /// end to free their resources. Do not rely on the tasks' effects.
    ///
    /// - Parameter processes: All processes that were created.
    public func end(_ processes: [SimulatedProcess]) {
        for process in processes { process.kill() }
        state.withLock { state in
            state.isOver = true
            state.ready += state.limbo
            state.limbo = []
        }
        for process in processes { process.cancelTasks() }
        for wake in state.withLock({ $0.sleepers.removeAll() }) { wake.resume(throwing: CancellationError()) }
        state.withLock { $0.thread = .current }
        defer { state.withLock { $0.thread = nil } }
        // Gives up on code that ignores cancellation and never ends.
        for _ in 0..<1_000_000 {
            guard let next = takeReady() else { return }
            run(next)
        }
    }
}

/// An FNV-1a digest of a run.
struct Trace {
    private(set) var digest: UInt64 = 0xCBF2_9CE4_8422_2325

    mutating func note(_ value: UInt64) {
        var rest = value
        for _ in 0..<8 {
            digest = (digest ^ (rest & 0xFF)) &* 0x0000_0100_0000_01B3
            rest >>= 8
        }
    }
}

private struct Sleepers {
    private var lastID = 0
    private var asleep: [Int: UnsafeContinuation<Void, any Error>] = [:]
    private var cancelled: Set<Int> = []

    mutating func newID() -> Int {
        lastID += 1
        return lastID
    }

    /// Returns false if the sleeper was cancelled first.
    mutating func add(_ id: Int, _ wake: UnsafeContinuation<Void, any Error>) -> Bool {
        if cancelled.remove(id) != nil { return false }
        asleep[id] = wake
        return true
    }

    mutating func remove(_ id: Int) -> UnsafeContinuation<Void, any Error>? { asleep.removeValue(forKey: id) }

    mutating func cancel(_ id: Int) -> UnsafeContinuation<Void, any Error>? {
        if let wake = asleep.removeValue(forKey: id) { return wake }
        cancelled.insert(id)
        return nil
    }

    mutating func removeAll() -> [UnsafeContinuation<Void, any Error>] {
        defer { asleep = [:] }
        return asleep.sorted { $0.key < $1.key }.map(\.value)
    }
}
