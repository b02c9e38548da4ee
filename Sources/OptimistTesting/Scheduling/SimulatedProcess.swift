// This source file is part of the Optimist open source project, under the MIT licence.

public import Foundation
package import OptimistCore

/// One launch of a program in a simulation. It runs tasks until it is killed; then none of its code runs again.
///
/// Create it with `SimulatedScheduler.process(_:)`. A device that restarts has a new process with the same disk.
@available(macOS 15, iOS 18, tvOS 18, watchOS 11, visionOS 2, *)
public final class SimulatedProcess: TaskExecutor, SerialExecutor {
    let name: String
    let number: Int
    private let scheduler: SimulatedScheduler

    private struct State {
        var isAlive = true
        var fuse: Int?
        var hasDiedAtCount = false
        var jobs = 0
        var tasks: [Int: Task<Void, Never>] = [:]
        var lastTask = 0
        var deathWatch: [@Sendable () -> Void] = []
    }

    private let state = Mutex(State())

    init(name: String, number: Int, scheduler: SimulatedScheduler) {
        self.name = name
        self.number = number
        self.scheduler = scheduler
    }

    /// Whether the process has not been killed.
    @_spi(Internals) public var isAlive: Bool { state.withLock { $0.isAlive } }
    /// The number of jobs that have run.
    public var jobs: Int { state.withLock { $0.jobs } }

    /// Starts a task in this process. Its child tasks and the actors it calls also run here.
    @discardableResult
    @_spi(Internals) public func spawn(_ operation: @escaping @Sendable () async -> Void) -> Task<Void, Never> {
        let id = state.withLock { state in
            state.lastTask += 1
            return state.lastTask
        }
        let task = Task(executorPreference: self) { [weak self] in
            await operation()
            self?.state.withLock { _ = $0.tasks.removeValue(forKey: id) }
        }
        state.withLock { $0.tasks[id] = task }
        return task
    }

    /// Kills the process between two jobs, like `kill -9`: without cleanup, `defer` or cancellation.
    public func kill() {
        let watchers = state.withLock { state in
            guard state.isAlive else { return [] as [@Sendable () -> Void] }
            state.isAlive = false
            defer { state.deathWatch = [] }
            return state.deathWatch
        }
        for watcher in watchers { watcher() }
    }

    /// Kills the process after this many more jobs, at any `await` in its code. A time limit could not do this, because
    /// virtual time stands still while jobs are ready.
    public func kill(afterJobs count: Int) { state.withLock { $0.fuse = max(count, 0) } }

    /// Whether ``kill(afterJobs:)`` killed the process.
    @_spi(Internals) public var hasDiedAtCount: Bool { state.withLock { $0.hasDiedAtCount } }

    /// Calls a closure when the process is killed. If it is dead already, calls the closure immediately.
    @_spi(Internals) public func onDeath(_ action: @escaping @Sendable () -> Void) {
        let isDead = state.withLock { state in
            if state.isAlive { state.deathWatch.append(action) }
            return !state.isAlive
        }
        if isDead { action() }
    }

    /// Returns whether the next job may run, and counts it.
    func mayRunJob() -> Bool {
        let (mayRun, mustDie) = state.withLock { state in
            guard state.isAlive else { return (false, false) }
            if let fuse = state.fuse {
                if fuse == 0 {
                    state.hasDiedAtCount = true
                    return (false, true)
                }
                state.fuse = fuse - 1
            }
            state.jobs += 1
            return (true, false)
        }
        if mustDie { kill() }
        return mayRun
    }

    func cancelTasks() {
        let tasks = state.withLock { state in state.tasks.sorted { $0.key < $1.key }.map(\.value) }
        for task in tasks { task.cancel() }
    }

    /// - Parameters:
    ///   - seed: Determines the code's randomness, including its ids.
    ///   - wallClock: Default: virtual time, starting at 2026-01-01.
    package func dependencies(seed: UInt64, wallClock: (@Sendable () -> Date)? = nil) -> Dependencies {
        let ids = Mutex(SplitMix64(seed: seed ^ 0x1D5))
        return Dependencies(
            clock: SimulatedClock(scheduler: scheduler, process: self), now: wallClock ?? scheduler.wallClock(),
            makeID: { ids.withLock { UUID(drawnFrom: &$0) } }, seed: seed,
            spawn: { [self] operation in spawn(operation) }, blockingExecutor: self, sharesFiles: false)
    }

    // MARK: - Executors

    public func enqueue(_ job: consuming ExecutorJob) { scheduler.enqueue(UnownedJob(job), self) }

    public func asUnownedSerialExecutor() -> UnownedSerialExecutor { UnownedSerialExecutor(ordinary: self) }

    public func asUnownedTaskExecutor() -> UnownedTaskExecutor { UnownedTaskExecutor(ordinary: self) }

    public func checkIsolated() {}
}

@available(macOS 15, iOS 18, tvOS 18, watchOS 11, visionOS 2, *)
extension SimulatedScheduler {
    /// Returns a wall clock that starts at the same time in every run.
    ///
    /// - Parameter skew: The clock's error in seconds. Default: 0.
    public func wallClock(skew: @escaping @Sendable () -> Double = { 0 }) -> @Sendable () -> Date {
        { [self] in
            let (seconds, attoseconds) = now.components
            let passed = Double(seconds) + Double(attoseconds) / 1e18
            return Date(timeIntervalSince1970: 1_767_225_600 + passed + skippedSeconds + skew())
        }
    }
}

/// The virtual clock of one process.
@available(macOS 15, iOS 18, tvOS 18, watchOS 11, visionOS 2, *)
struct SimulatedClock: Clock {
    struct Instant: InstantProtocol {
        var offset: Duration
        func advanced(by duration: Duration) -> Self { Self(offset: offset + duration) }
        func duration(to other: Self) -> Duration { other.offset - offset }
        static func < (a: Self, b: Self) -> Bool { a.offset < b.offset }
    }

    let scheduler: SimulatedScheduler
    let process: SimulatedProcess

    var now: Instant { Instant(offset: scheduler.now) }
    let minimumResolution = Duration.zero

    func sleep(until deadline: Instant, tolerance: Duration?) async throws {
        try await scheduler.sleep(until: deadline.offset, in: process)
    }
}

extension UUID {
    /// Creates a version 4 UUID from a reproducible generator.
    init(drawnFrom random: inout some RandomNumberGenerator) {
        let (high, low) = (random.next(), random.next())
        func byte(_ word: UInt64, _ index: UInt64) -> UInt8 { UInt8(truncatingIfNeeded: word >> (56 - 8 * index)) }
        self.init(
            uuid: (
                byte(high, 0), byte(high, 1), byte(high, 2), byte(high, 3), byte(high, 4), byte(high, 5),
                byte(high, 6) & 0x0F | 0x40, byte(high, 7), byte(low, 0) & 0x3F | 0x80, byte(low, 1), byte(low, 2),
                byte(low, 3), byte(low, 4), byte(low, 5), byte(low, 6), byte(low, 7)
            ))
    }
}
