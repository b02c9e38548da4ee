// This source file is part of the Optimist open source project, under the MIT licence.

public import Foundation

/// Everything the library would otherwise take from the world around it: time, identity, chance and tasks.
///
/// The defaults are the real ones. A test passes its own, and the same values then give the same run.
public struct Dependencies: Sendable {
    /// Measures waiting. Default: `ContinuousClock`.
    public var clock: any Clock<Duration>
    /// The time of day, for dates that people read and for clocks that are compared with other machines. Default: the
    /// system's. The library never measures a duration with it, since it can be set.
    public var now: @Sendable () -> Date
    /// Makes the ids of rows, devices and requests. Default: random UUIDs.
    public var makeID: @Sendable () -> UUID
    /// Starts every random draw that is not a secret, such as the jitter of a backoff. Default: a random number.
    public var seed: UInt64
    /// Starts a task that outlives its caller. The library makes such tasks nowhere else. Default: `Task`.
    public var spawn: @Sendable (_ operation: @escaping @Sendable () async -> Void) -> Task<Void, Never>
    /// Runs work that blocks its thread, such as SQLite's. Nil, the default: each database has a queue of its own.
    public var blockingExecutor: (any SerialExecutor)?
    /// Whether other processes may open the app's database files. If so, the library watches the files, and the process
    /// that syncs locks them. Default: true. A simulation whose files are not on a disk passes false.
    public var sharesFiles: Bool

    /// Makes dependencies. The defaults are the real clock, time, ids, chance and tasks.
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

    /// Returns a generator for one purpose, independent of every other purpose's.
    ///
    /// - Parameter purpose: A constant name, such as `"push.backoff"`. The same seed and name give the same draws.
    public func randomness(for purpose: String) -> SplitMix64 {
        SplitMix64(seed: purpose.utf8.reduce(seed) { ($0 ^ UInt64($1)) &* 0x0000_0100_0000_01B3 })
    }
}
