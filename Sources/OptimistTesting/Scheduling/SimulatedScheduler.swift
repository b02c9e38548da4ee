// This source file is part of the Optimist open source project, under the MIT licence.

import OptimistCore

/// Runs asynchronous code in an order that one seed decides: one thread, virtual time, no waiting.
///
/// Whatever is ready to run waits in one place, and the seed picks what runs next. Time stands still while anything is
/// ready and then jumps to whatever is due first. So a day passes in a second, and the same seed gives the same run, as
/// long as the code takes time, chance, ids and tasks from its `Dependencies`, and does not depend on the order of a
/// `Set` or `Dictionary` (the environment variable `SWIFT_DETERMINISTIC_HASHING=1` fixes that order too).
///
/// ```swift
/// let scheduler = SimulatedScheduler(seed: 7)
/// let phone = scheduler.process("phone")
/// phone.spawn { … }
/// scheduler.run(for: .seconds(60))
/// ```
///
/// Not to be used from several threads: make it, call it and let it go on one. A job that arrives from another thread has
/// left the simulation, and stops the program with a message that says so.
@available(macOS 15, iOS 18, tvOS 18, watchOS 11, visionOS 2, *)
@_spi(Internals) public final class SimulatedScheduler: Sendable {
    private struct Ready {
        let job: UnownedJob
        let process: SimulatedProcess
    }

    private struct State {
        var ready: [Ready] = []
        /// The jobs of those that are dead. They run when everything is over, so that their memory is given back.
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

    /// - Parameter seed: Decides what runs next, and nothing else.
    public init(seed: UInt64) { state = Mutex(State(random: SplitMix64(seed: seed))) }

    /// How much time has passed since the beginning.
    public var now: Duration { state.withLock { $0.now } }
    /// By how much every wall clock was moved ahead, in seconds.
    var skippedSeconds: Double { state.withLock { $0.skippedSeconds } }
    /// How many jobs have run. A job is what a task does between two suspensions.
    public var steps: Int { state.withLock { $0.steps } }
    /// A digest of everything that was decided so far: equal for two runs that took the same course.
    public var trace: UInt64 { state.withLock { $0.trace.digest } }

    /// Mixes something into trace, such as what a message said.
    public func note(_ value: UInt64) { state.withLock { $0.trace.note(value) } }

    /// Makes a process: something that runs tasks, and that can be killed.
    public func process(_ name: String) -> SimulatedProcess {
        let number = state.withLock { state in
            state.lastProcess += 1
            return state.lastProcess
        }
        return SimulatedProcess(name: name, number: number, scheduler: self)
    }

    /// Does something when that much time has passed. It belongs to no process, so that nothing can kill it.
    public func after(_ delay: Duration, _ action: @escaping @Sendable () -> Void) {
        state.withLock { $0.timers.add(action, due: $0.now + max(delay, .zero)) }
    }

    /// Moves every wall clock ahead at once, as if all devices had lain switched off for so long: no timer goes by meanwhile.
    ///
    /// - Parameter seconds: More than zero.
    public func skip(seconds: Double) { state.withLock { $0.skippedSeconds += max(0, seconds) } }

    // MARK: - Running

    /// Runs until that much more time has passed, or until nothing is left to do and nothing is due before that.
    ///
    /// - Parameters:
    ///   - duration: Virtual time.
    ///   - isDone: Asked after each job. True ends the run early.
    /// - Returns: Whether `isDone` said so.
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
                "A job came from another thread: something takes time, tasks or queues from the real world.")
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

    /// Ends the simulation: every task of every process, dead ones too, is cancelled and run to its end, so that what they
    /// hold is given back. Nothing may be expected of what they still do.
    ///
    /// - Parameter processes: All that were made.
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
        // Code that goes on for ever in spite of being cancelled is left where it is.
        for _ in 0..<1_000_000 {
            guard let next = takeReady() else { return }
            run(next)
        }
    }
}

/// A digest of a run: FNV-1a.
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

/// The tasks that are asleep.
private struct Sleepers {
    private var lastID = 0
    private var asleep: [Int: UnsafeContinuation<Void, any Error>] = [:]
    /// Those that were cancelled before they fell asleep.
    private var cancelled: Set<Int> = []

    mutating func newID() -> Int {
        lastID += 1
        return lastID
    }

    /// Returns false if the sleeper was cancelled meanwhile.
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
