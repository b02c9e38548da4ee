// This source file is part of the Optimist open source project, under the MIT licence.

import OptimistCore

/// How long one request that writes may occupy the store's writer.
///
/// Writes run one after another, so all requests wait for the longest one. The service refuses a request that exceeds
/// its budget with the protocol's `limit` error, and keeps nothing of it. A device then sends halves, down to the row
/// that is too much.
@_spi(Internals) public struct WorkBudget: Sendable {
    /// The time limit. Nil: there is none.
    let limit: Duration?
    /// The number of steps of a ``WorkMeter`` up to which no request is refused, however long they take.
    let freeSteps: Int
    /// The same number for a request of one unit: a row, or rows that succeed or fail together.
    let freeStepsOfUnit: Int
    /// Measures the time. Returns the duration since a fixed moment.
    public let now: @Sendable () -> Duration

    /// The number is large enough that a group of 1,000 rows is never refused for its time. A device may send that many
    /// rows as one unit, which it cannot halve. If the server refused the unit because its machine paused for a moment,
    /// the device would undo the edit.
    ///
    /// Creating a row takes 5 steps and changing one takes 6, plus one for each of its references, for each of its
    /// unique values, for each 4 KB, for each 2 KB of the request, and for each 4 keys that are looked up together. If
    /// another row of the push is refused, the server evaluates the rows again: 2 steps each, plus one for each unique
    /// value. With five references and three unique values, 1,000 rows that change
    /// and are evaluated twice take 21,000 steps. A step takes about 4 µs in an optimised build, and 13 µs in the
    /// longest cascades, so an ordinary machine does this many steps within the limit.
    static let freeSteps = 24_000

    /// The same number for one unit. No device can halve a unit, and a refusal undoes the edit for good. The time
    /// therefore counts only after more steps than an ordinary machine does within the limit.
    ///
    /// The largest units are deletes that cascade to other rows, with 6 to 9 steps for each row, so this number is
    /// enough for more than 6,000 rows. At 13 µs a step, other requests wait 800 ms.
    static let freeStepsOfUnit = 60_000

    /// - Parameters:
    ///   - limit: The longest time from the moment at which the request has the writer. The server never refuses a
    ///     request with 1,000 rows of ordinary size, however slow the machine. It also never refuses a single row or
    ///     group for its time if the row or group cascades to at most 6,000 rows.
    ///   - now: Returns the duration since a fixed moment. Default: by a clock that stops while the machine sleeps.
    public init(_ limit: Duration, now: @escaping @Sendable () -> Duration = Self.stopwatch()) {
        self.init(limit, freeSteps: Self.freeSteps, freeStepsOfUnit: Self.freeStepsOfUnit, now: now)
    }

    /// - Parameter freeStepsOfUnit: Default: the value of `freeSteps`.
    package init(
        _ limit: Duration?, freeSteps: Int, freeStepsOfUnit: Int? = nil, now: @escaping @Sendable () -> Duration
    ) {
        self.limit = limit
        self.freeSteps = freeSteps
        self.freeStepsOfUnit = freeStepsOfUnit ?? freeSteps
        self.now = now
    }

    /// Refuses no request for its work, and never reads the time. For simulations, which must be repeatable.
    public static let unlimited = WorkBudget(nil, freeSteps: 0, now: { .zero })

    /// 600 ms. Other requests wait less than a second, including the time to undo or to commit.
    public static let standard = WorkBudget(.milliseconds(600))

    /// Makes a function that returns the time since this call, without the time for which the machine slept.
    public static func stopwatch() -> @Sendable () -> Duration {
        let start = SuspendingClock.now
        return { start.duration(to: .now) }
    }
}

/// Why the service gives up a request before it is done. The error says nothing about the rows.
@_spi(Internals) public enum WorkStopped: Error {
    /// The request was more work than the budget allows.
    case overBudget
    /// The caller of the request was cancelled.
    case cancelled
}

/// Counts the work of one request, and ends the request if the work is too much or the caller no longer waits.
///
/// A meter belongs to one transaction, and only the transaction's thread uses it.
@_spi(Internals) public final class WorkMeter {
    private let budget: WorkBudget
    private let caller: WorkCaller
    private let start: Duration
    /// Whether the client could send the request in smaller parts.
    var canBeHalved = true
    private(set) var steps = 0
    private var nextLook = WorkMeter.stepsBetweenLooks

    private static let stepsBetweenLooks = 64
    /// The number of bytes of a row that count as one more step.
    private static let bytesPerStep = 4096
    /// The number of bytes of JSON whose parsing counts as one step.
    static let parsedBytesPerStep = 1024
    /// The number of bytes of a request that count as one step: its calls read what was parsed before.
    static let requestBytesPerStep = 2048
    /// The number of rows that are counted in an index, and not read, that count as one step.
    public static let countedRowsPerStep = 64

    init(_ budget: WorkBudget, for caller: WorkCaller) {
        self.budget = budget
        self.caller = caller
        start = budget.now()
    }

    /// Notes that a row was read, checked or written.
    ///
    /// - Parameter bytes: The size of the row, if it is known. Default: 0.
    /// - Throws: An error that the caller must rethrow. Nothing of the transaction may be kept then.
    public func step(bytes: Int = 0) throws { try step(count: 1 + bytes / Self.bytesPerStep) }

    /// Notes work of several steps that is no row's, such as a look at many keys.
    ///
    /// - Parameter count: At least 0.
    /// - Throws: An error that the caller must rethrow. Nothing of the transaction may be kept then.
    public func step(count: Int) throws {
        steps += count
        if steps < nextLook { return }
        nextLook = steps + Self.stepsBetweenLooks
        try look()
    }

    /// Checks the time, and whether the caller still waits.
    func look() throws(WorkStopped) {
        if caller.hasLeft { throw .cancelled }
        let freeSteps = canBeHalved ? budget.freeSteps : budget.freeStepsOfUnit
        guard let limit = budget.limit, steps >= freeSteps else { return }
        if budget.now() - start > limit { throw .overBudget }
    }
}

/// Tells whether the caller of a request still waits for it.
final class WorkCaller: Sendable {
    private let left = Mutex(false)

    var hasLeft: Bool { left.withLock(\.self) }
    func leave() { left.withLock { $0 = true } }
}
