// This source file is part of the Optimist open source project, under the MIT licence.

public import Foundation

/// The library's inputs from the outside world: time, ids, randomness and tasks.
///
/// The defaults are the real ones. A test passes its own to make a run repeatable.
public struct Dependencies: Sendable {
    /// Measures waits and durations. Default: `ContinuousClock`.
    public var clock: any Clock<Duration>
    /// The time of day, for dates shown to people and timestamps compared across machines. Default: the system's clock.
    /// The user can set that clock, so the library never measures a duration with it.
    public var now: @Sendable () -> Date
    /// Makes the ids of rows, devices and requests. Default: random UUIDs.
    public var makeID: @Sendable () -> UUID
    /// The seed of all randomness that is not secret, such as backoff jitter. Default: a random number.
    public var seed: UInt64
    /// Starts a task that outlives its caller. The library starts such tasks only here. Default: `Task`.
    public var spawn: @Sendable (_ operation: @escaping @Sendable () async -> Void) -> Task<Void, Never>
    /// Runs blocking work such as SQLite calls. Default: nil, which gives each database its own queue.
    public var blockingExecutor: (any SerialExecutor)?
    /// Whether other processes may open the app's database files. If true, the library watches the files, and the
    /// process that syncs locks them. Default: true. A simulation whose files are not on disk passes false.
    public var sharesFiles: Bool

    /// Makes dependencies. By default all are real.
    public init(
        clock: any Clock<Duration> = ContinuousClock(),
        now: @escaping @Sendable () -> Date = { Date() },
        makeID: @escaping @Sendable () -> UUID = { UUID() },
        seed: UInt64 = .random(in: .min ... .max),
        spawn: @escaping @Sendable (_ operation: @escaping @Sendable () async -> Void) -> Task<Void, Never> = {
            operation in Task { await operation() }
        },
        blockingExecutor: (any SerialExecutor)? = nil,
        sharesFiles: Bool = true
    ) {
        self.clock = clock
        self.now = now
        self.makeID = makeID
        self.seed = seed
        self.spawn = spawn
        self.blockingExecutor = blockingExecutor
        self.sharesFiles = sharesFiles
    }

    /// Returns a generator for one purpose, independent of the generators for other purposes.
    ///
    /// - Parameter purpose: A constant name, such as `"push.backoff"`. The same seed and name give the same sequence.
    public func randomness(for purpose: String) -> SplitMix64 {
        SplitMix64(seed: purpose.utf8.reduce(seed) { ($0 ^ UInt64($1)) &* 0x0000_0100_0000_01B3 })
    }
}
