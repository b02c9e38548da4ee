// This source file is part of the Optimist open source project, under the MIT licence.

import OptimistCore

/// How long one writing request may occupy the store's writer.
///
/// Writes run one after another, so every request waits for the longest one. The service refuses a request that exceeds
/// its budget with the protocol's `limit` error, and keeps none of its writes. The device then halves the request until
/// it finds the row that is too much work.
@_spi(Internals) public struct WorkBudget: Sendable {
    let limit: Duration?
    /// Requests with at most this many steps of a ``WorkMeter`` are never refused, however long they take.
    let freeSteps: Int
    /// The free steps of a request with a single unit: one row, or rows that succeed or fail together.
    let freeStepsOfUnit: Int
    public let now: @Sendable () -> Duration

    /// The number is large enough that a group of 1,000 rows is never refused for its time. A device may send that many
    /// rows as one unit, which it cannot halve. If the server refused the unit because its machine paused for a moment,
    /// the device would undo the edit.
    ///
    /// Creating a row takes 5 steps and changing one takes 6, plus one for each reference, each unique value, each 4
    /// KB, each 2 KB of the request, and each 4 keys of a lookup. If another row of the push is refused, the server
    /// evaluates the rows again: 2 steps each, plus one for each unique value. With five references and three unique
    /// values, changing 1,000 rows and evaluating them twice takes 21,000 steps. A step takes about 4 µs in an
    /// optimised build, and 13 µs in the longest cascades, so an ordinary machine finishes this many steps within the
    /// limit.
    static let freeSteps = 24_000

    /// The free steps of a single unit. No device can halve a unit, and a refusal undoes the edit permanently. The time
    /// limit therefore applies only after more steps than an ordinary machine does within the limit.
    ///
    /// The largest units are deletes that cascade to other rows, with 6 to 9 steps per row, so this number covers more
    /// than 6,000 rows. At 13 µs a step, other requests wait 800 ms.
    static let freeStepsOfUnit = 60_000

    /// - Parameter limit: The longest time, counted from when the request gets the writer. However slow the machine,
    ///   the server never refuses a request with 1,000 rows of ordinary size, or a single row or group that cascades to
    ///   at most 6,000 rows.
    public init(_ limit: Duration, now: @escaping @Sendable () -> Duration = Self.stopwatch()) {
        self.init(limit, freeSteps: Self.freeSteps, freeStepsOfUnit: Self.freeStepsOfUnit, now: now)
    }

    package init(
        _ limit: Duration?, freeSteps: Int, freeStepsOfUnit: Int? = nil, now: @escaping @Sendable () -> Duration
    ) {
        self.limit = limit
        self.freeSteps = freeSteps
        self.freeStepsOfUnit = freeStepsOfUnit ?? freeSteps
        self.now = now
    }

    /// Never refuses a request, and never reads the time. For simulations, which must be reproducible.
    public static let unlimited = WorkBudget(nil, freeSteps: 0, now: { .zero })

    /// 600 ms. Other requests wait less than a second, including the time to undo or commit.
    public static let standard = WorkBudget(.milliseconds(600))

    /// Makes a function that returns the time since this call, excluding time when the machine slept.
    public static func stopwatch() -> @Sendable () -> Duration {
        let start = SuspendingClock.now
        return { start.duration(to: .now) }
    }
}

/// Why the service abandons a request. The error contains no row data.
@_spi(Internals) public enum WorkStopped: Error {
    case overBudget
    case cancelled
}

/// Counts the work of one request, and ends the request if it takes too much work or if its caller was cancelled.
///
/// A meter belongs to one transaction, and only the transaction's thread uses it.
@_spi(Internals) public final class WorkMeter {
    private let budget: WorkBudget
    private let caller: WorkCaller
    private let start: Duration
    var canBeHalved = true
    private(set) var steps = 0
    private var nextLook = WorkMeter.stepsBetweenLooks

    private static let stepsBetweenLooks = 64
    /// The number of bytes of a row that count as another step.
    private static let bytesPerStep = 4096
    /// The number of bytes of JSON that count as one step when parsed.
    static let parsedBytesPerStep = 1024
    /// The number of bytes of a parsed request that count as one step when its calls read them.
    static let requestBytesPerStep = 2048
    /// The number of rows that count as one step when they are counted in an index without being read.
    public static let countedRowsPerStep = 64

    init(_ budget: WorkBudget, for caller: WorkCaller) {
        self.budget = budget
        self.caller = caller
        start = budget.now()
    }

    /// Counts a row that was read, checked or written. `bytes` is its size, if known.
    ///
    /// - Throws: An error that the caller must rethrow. The transaction must then be rolled back.
    public func step(bytes: Int = 0) throws { try step(count: 1 + bytes / Self.bytesPerStep) }

    /// Counts work that does not belong to a row, such as a lookup of many keys.
    ///
    /// - Throws: An error that the caller must rethrow. The transaction must then be rolled back.
    public func step(count: Int) throws {
        steps += count
        if steps < nextLook { return }
        nextLook = steps + Self.stepsBetweenLooks
        try look()
    }

    func look() throws(WorkStopped) {
        if caller.hasLeft { throw .cancelled }
        let freeSteps = canBeHalved ? budget.freeSteps : budget.freeStepsOfUnit
        guard let limit = budget.limit, steps >= freeSteps else { return }
        if budget.now() - start > limit { throw .overBudget }
    }
}

/// Whether the caller of a request still waits for it.
final class WorkCaller: Sendable {
    private let left = Mutex(false)

    var hasLeft: Bool { left.withLock(\.self) }
    func leave() { left.withLock { $0 = true } }
}
