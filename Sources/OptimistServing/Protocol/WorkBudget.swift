// This source file is part of the Optimist open source project, under the MIT licence.

import Synchronization

/// How long one request that writes may keep the store's writer to itself.
///
/// Writes run one after another, so everybody waits for the longest. A request that is past its budget is refused with
/// the protocol's `limit` error, and nothing of it is kept: a device then sends halves, down to the row that is too much.
public struct WorkBudget: Sendable {
    /// Nil: as long as it takes.
    let limit: Duration?
    /// The steps of a ``WorkMeter`` for which no request is refused, however long they take.
    let freeSteps: Int
    /// The same for a request of one unit: a row, or rows that succeed or fail together.
    let freeStepsOfUnit: Int
    /// What the time is measured by: how long it is since some moment.
    public let now: @Sendable () -> Duration

    /// So many that a group of 1,000 rows is never refused for its time. A device sends as many as one unit, which it cannot
    /// halve: were the unit refused because a machine stood still for a moment, the device would take the edit back.
    ///
    /// To create a row takes 5 steps, to change one 6: one more for each reference and each unique value that it has, and
    /// for each 4 KB. If another row of the push is refused all is judged once more: 2 steps, and one for each unique value. With
    /// five references and three unique values that is 19,000 for 1,000 rows that change and are judged twice. A step
    /// takes some 4 µs in an optimised build, and 13 µs in the longest cascades: so many steps are done within the limit.
    static let freeSteps = 24_000

    /// The same for one unit. No device can halve it, and a refusal takes the edit back for good: time counts only past
    /// more steps than an ordinary machine takes within the limit.
    ///
    /// The largest units are deletes that take other rows along, with 6 to 9 steps for each: more than 6,000 rows. At 13 µs
    /// a step, others wait 800 ms.
    static let freeStepsOfUnit = 60_000

    /// - Parameters:
    ///   - limit: The most time from the moment at which the request has the writer. What it does with 1,000 rows of
    ///     ordinary size is never refused, however slow the machine. The server never refuses one row or group for its
    ///     time either if that takes along at most 6,000 rows.
    ///   - now: How long it is since some moment. Default: by a clock that stands still while the machine sleeps.
    public init(_ limit: Duration, now: @escaping @Sendable () -> Duration = Self.stopwatch()) {
        self.init(limit, freeSteps: Self.freeSteps, freeStepsOfUnit: Self.freeStepsOfUnit, now: now)
    }

    /// - Parameter freeStepsOfUnit: Default: as many as `freeSteps`.
    package init(
        _ limit: Duration?, freeSteps: Int, freeStepsOfUnit: Int? = nil, now: @escaping @Sendable () -> Duration
    ) {
        self.limit = limit
        self.freeSteps = freeSteps
        self.freeStepsOfUnit = freeStepsOfUnit ?? freeSteps
        self.now = now
    }

    /// No request is refused for its work, and time is never looked at: for simulations, which have to be repeatable.
    public static let unlimited = WorkBudget(nil, freeSteps: 0, now: { .zero })

    /// 600 ms: others wait less than a second, with what it takes to undo or to commit.
    public static let standard = WorkBudget(.milliseconds(600))

    /// Tells how long it is since it was made, without the time for which the machine slept.
    public static func stopwatch() -> @Sendable () -> Duration {
        let start = SuspendingClock.now
        return { start.duration(to: .now) }
    }
}

/// Why a request is given up before it is done. It says nothing about the rows.
public enum WorkStopped: Error {
    /// It was more work than the budget allows.
    case overBudget
    /// Whoever asked has left.
    case cancelled
}

/// Counts what one request does, and ends it when that is too much or nobody waits for it any more.
///
/// Belongs to one transaction, and is used by its thread only.
public final class WorkMeter {
    private let budget: WorkBudget
    private let caller: WorkCaller
    private let start: Duration
    /// Whether its client could send less at a time.
    var canBeHalved = true
    private(set) var steps = 0
    private var nextLook = WorkMeter.stepsBetweenLooks

    private static let stepsBetweenLooks = 64
    /// How much of a row counts as much as a row.
    private static let bytesPerStep = 4096

    init(_ budget: WorkBudget, for caller: WorkCaller) {
        self.budget = budget
        self.caller = caller
        start = budget.now()
    }

    /// Notes that a row was read, looked at or written.
    ///
    /// - Parameter bytes: How large it is, where that is known.
    /// - Throws: An error that the caller hands on. Nothing of the transaction must be kept then.
    public func step(bytes: Int = 0) throws {
        steps += 1 + bytes / Self.bytesPerStep
        if steps < nextLook { return }
        nextLook = steps + Self.stepsBetweenLooks
        try look()
    }

    /// Looks at the time, and whether somebody still waits.
    func look() throws(WorkStopped) {
        if caller.hasLeft { throw .cancelled }
        let freeSteps = canBeHalved ? budget.freeSteps : budget.freeStepsOfUnit
        guard let limit = budget.limit, steps >= freeSteps else { return }
        if budget.now() - start > limit { throw .overBudget }
    }
}

/// Whether somebody still waits for what a request does.
final class WorkCaller: Sendable {
    private let left = Mutex(false)

    var hasLeft: Bool { left.withLock(\.self) }
    func leave() { left.withLock { $0 = true } }
}
