// This source file is part of the Optimist open source project, under the MIT licence.

import OptimistSession

/// What each figure should come to, on the machine at hand. A ratio is Optimist's time or size by its rival's.
///
/// They were set before the code was written, from what the rivals and the bare parts take.
enum Thresholds {
    /// One row in a transaction of its own, by GRDB with the same durability.
    static let localWrite = Target.ratio(atMost: 1.3)
    /// 10,000 records in one transaction, by GRDB.
    static let bulkRecords = Target.ratio(atMost: 1.4)
    /// The same as bare SQL, where the records' own cost hides nothing.
    static let bulkSQL = Target.ratio(atMost: 1.8)
    /// The file after it, with every row pending.
    static let fileSize = Target.ratio(atMost: 1.4)
    /// From the commit to the new rows in the app's hands, by GRDB's ValueObservation.
    static let delivery = Target.ratio(atMost: 1.2)
    /// From the bytes of the answers to rows in an indexed table.
    static let firstSync = Target.rowsPerSecond(atLeast: 100_000)
    /// Beyond what the process held before, for 100,000 rows: a tenth of what a million may take would be no test.
    static let firstSyncMemory = Target.megabytes(atMost: 150)
    /// From the write to the last verdict, with a server that answers at once.
    static let push = Target.rowsPerSecond(atLeast: 30_000)
    /// The latest one of a hundred local writes while a million rows come in, by the same when nothing does.
    static let writeMeanwhile = Target.ratio(atMost: 10)
    /// The same of how long a live query of another table takes from one state to the next, with the 10 ms that the app pauses
    /// between two writes.
    static let statesMeanwhile = Target.ratio(atMost: 10)
    /// Opening a file in which a million rows are pending.
    static let opening = Target.milliseconds(atMost: 100)

    /// A thousand requests that meet an expired token, whose renewal takes 200 ms: each is sent once, and those that had a
    /// slot once more.
    static let expired = Target.milliseconds(atMost: 500)
    static let expiredSends = Target.count(atMost: Double(1_000 + SessionConfiguration().slots))
    static let oneRefresh = Target.count(atMost: 1)
    static let nothing = Target.count(atMost: 0)
    /// A renewal that fails, with a thousand waiting, and a server that refuses every token: in a second.
    static let refreshesUnreachable = Target.count(atMost: 2)
    static let refreshesRefused = Target.count(atMost: 1)
    /// Sends of one request.
    static let sendsRefused = Target.count(atMost: 2)
    static let sendsOutage = Target.count(atMost: 1.1)
    static let cancelled = Target.milliseconds(atMost: 5)
    /// What a session adds to its transport: to one request at a time, and to the processors when several are under way.
    static let overhead = Target.microseconds(atMost: 25)
    static let overheadBusy = Target.microseconds(atMost: 10)
    /// Until a request to a host that refuses connections, or has no address, comes back.
    static let nobodyThere = Target.milliseconds(atMost: 50)
    static let sessionMemory = Target.megabytes(atMost: 1)

    /// A value in memory under a text: asked for, and awaited on the main actor.
    static let memoryHit = Target.nanoseconds(atMost: 100)
    static let awaitedHit = Target.nanoseconds(atMost: 120)
    /// Joining a running fetch; starting a fetch for a new key; starting one and giving it up, with the task.
    static let join = Target.nanoseconds(atMost: 200)
    static let load = Target.nanoseconds(atMost: 2_000)
    static let startAndCancel = Target.nanoseconds(atMost: 800)
    /// A value in memory while three hundred wait for the disk: of a hundred, the slowest.
    static let hitWhileReading = Target.nanoseconds(atMost: 1_000)
    /// Fifty kilobytes from a file and to one, verified.
    static let diskRead = Target.microseconds(atMost: 12)
    static let diskWrite = Target.microseconds(atMost: 30)
    /// How often something is not in memory, by a cache that lets the least recently used go.
    static let misses = Target.ratio(atMost: 1.02)
    static let missesOnAverage = Target.ratio(atMost: 0.95)

    /// A hundredth of a frame each: taking in a change of the screen, and making the next snapshot.
    static let feedStep = Target.microseconds(atMost: 160)
    static let feedSnapshot = Target.microseconds(atMost: 160)
    /// Asking for a page and telling what it has inserted, by the difference of the two lists of ids.
    static let feedPage = Target.ratio(atMost: 2)
    /// The pictures that are kept, and some 300 bytes for each item.
    static let feedMemory = Target.megabytes(atMost: 12)
}

enum Target: CustomStringConvertible {
    case ratio(atMost: Double)
    case rowsPerSecond(atLeast: Double)
    case milliseconds(atMost: Double)
    case megabytes(atMost: Double)
    case microseconds(atMost: Double)
    case nanoseconds(atMost: Double)
    case count(atMost: Double)

    var description: String {
        switch self {
        case .ratio(let limit): "≤ \(limit.formatted(decimals: limit * 10 == (limit * 10).rounded() ? 1 : 2)) ×"
        case .rowsPerSecond(let limit): "≥ \(grouped(limit)) rows/s"
        case .milliseconds(let limit): "≤ \(limit.formatted(decimals: 0)) ms"
        case .megabytes(let limit): "≤ \(limit.formatted(decimals: 0)) MB"
        case .microseconds(let limit): "≤ \(limit.formatted(decimals: 0)) µs"
        case .nanoseconds(let limit): "≤ \(limit.formatted(decimals: 0)) ns"
        case .count(let limit): "≤ \(Measure.count(limit))"
        }
    }

    func isMet(by figure: Figure) -> Bool {
        switch (self, figure.measured) {
        case (.ratio(let limit), _): (figure.ratio ?? .infinity) <= limit
        case (.rowsPerSecond(let limit), .rate(let rows, let samples)): Double(rows) / samples.median >= limit
        case (.milliseconds(let limit), .time(let samples)): samples.median * 1e3 <= limit
        case (.megabytes(let limit), .size(let bytes)): bytes / 1e6 <= limit
        case (.microseconds(let limit), .time(let samples)): samples.median * 1e6 <= limit
        case (.nanoseconds(let limit), .time(let samples)): samples.median * 1e9 <= limit
        case (.count(let limit), .count(let count)): count <= limit
        default: preconditionFailure("\(figure.name) has a target of another kind than its measure")
        }
    }
}
