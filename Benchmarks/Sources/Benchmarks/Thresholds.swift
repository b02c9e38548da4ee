// This source file is part of the Optimist open source project, under the MIT licence.

import OptimistSession

/// The targets of the figures. A ratio is Optimist's time or size divided by its rival's.
///
/// They were set before the code was written, from measurements of the rivals and of the parts alone.
enum Thresholds {
    /// One row in its own transaction, compared with GRDB at the same durability.
    static let localWrite = Target.ratio(atMost: 1.3)
    /// 10,000 records in one transaction, compared with GRDB.
    static let bulkRecords = Target.ratio(atMost: 1.4)
    /// The same with plain SQL, where the overhead of records hides nothing.
    static let bulkSQL = Target.ratio(atMost: 1.8)
    /// The size of the resulting file, with every row pending.
    static let fileSize = Target.ratio(atMost: 1.4)
    /// The time from the commit until the app receives the new rows, compared with GRDB's ValueObservation.
    static let delivery = Target.ratio(atMost: 1.2)
    /// The rate from the bytes of the server's answers until their rows are in an indexed table.
    static let firstSync = Target.rowsPerSecond(atLeast: 100_000)
    /// The memory that the sync adds. The limit is the same for 100,000 rows and for a million.
    static let firstSyncMemory = Target.megabytes(atMost: 150)
    /// The rate from the write to the last verdict, with a server that answers immediately.
    static let push = Target.rowsPerSecond(atLeast: 30_000)
    /// The p99 of local writes while a million rows arrive, compared with an idle store.
    static let writeMeanwhile = Target.ratio(atMost: 10)
    /// The p99 interval between states of a live query of another table, compared with an idle store. Includes the
    /// app's pauses of 10 ms.
    static let statesMeanwhile = Target.ratio(atMost: 10)
    /// Opening a file with a million pending rows.
    static let opening = Target.milliseconds(atMost: 100)

    /// Rows in spaces, compared with the same rows in an app without spaces, or in one account.
    static let sharedWrite = Target.ratio(atMost: 1.05)
    static let pushToSpaces = Target.ratio(atMost: 1.43)
    static let pushToManySpaces = Target.ratio(atMost: 3.33)
    static let spaceBytesPerRow = Target.count(atMost: 2)
    /// From the write of the move to its verdict.
    static let move = Target.milliseconds(atMost: 1_500)
    static let firstSyncOfSpaces = Target.milliseconds(atMost: 3_000)
    /// In one transaction, which blocks no reader.
    static let purge = Target.milliseconds(atMost: 2_000)
    static let readMeanwhile = Target.milliseconds(atMost: 100)
    static let sessionOfSpaces = Target.megabytes(atMost: 0.1)

    /// A thousand requests with an expired token, whose refresh takes 200 ms. Each request is sent once; requests that
    /// had a slot are sent again.
    static let expired = Target.milliseconds(atMost: 500)
    static let expiredSends = Target.count(atMost: Double(1_000 + SessionConfiguration().slots))
    static let oneRefresh = Target.count(atMost: 1)
    static let nothing = Target.count(atMost: 0)
    /// Refreshes per second: if refreshes fail while a thousand requests wait, and if the server refuses every token.
    static let refreshesUnreachable = Target.count(atMost: 2)
    static let refreshesRefused = Target.count(atMost: 1)
    /// Sends per request.
    static let sendsRefused = Target.count(atMost: 2)
    static let sendsOutage = Target.count(atMost: 1.1)
    static let cancelled = Target.milliseconds(atMost: 5)
    /// What a session adds to the latency of one request, and to the CPU time of each of several concurrent requests.
    static let overhead = Target.microseconds(atMost: 25)
    static let overheadBusy = Target.microseconds(atMost: 10)
    /// The time until a request fails because the host refuses connections or does not have an address.
    static let nobodyThere = Target.milliseconds(atMost: 50)
    static let sessionMemory = Target.megabytes(atMost: 1)

    /// A value in memory with a string key: looked up, and awaited on the main actor.
    static let memoryHit = Target.nanoseconds(atMost: 100)
    static let awaitedHit = Target.nanoseconds(atMost: 120)
    /// Joining a running fetch, a complete fetch for a new key, and starting and cancelling a fetch, including its
    /// task.
    static let join = Target.nanoseconds(atMost: 200)
    static let load = Target.nanoseconds(atMost: 2_000)
    static let startAndCancel = Target.nanoseconds(atMost: 800)
    /// The p99 of a lookup in memory while 300 fetches wait for the disk.
    static let hitWhileReading = Target.nanoseconds(atMost: 1_000)
    /// Reading 50 kB from a file and writing it, with verification.
    static let diskRead = Target.microseconds(atMost: 12)
    static let diskWrite = Target.microseconds(atMost: 30)
    /// The miss rate, compared with an LRU cache.
    static let misses = Target.ratio(atMost: 1.02)
    static let missesOnAverage = Target.ratio(atMost: 0.95)

    /// A hundredth of a frame each: processing a scroll step, and creating the next snapshot.
    static let feedStep = Target.microseconds(atMost: 160)
    static let feedSnapshot = Target.microseconds(atMost: 160)
    /// Loading a page and reporting its insertions, compared with a difference of the two lists.
    static let feedPage = Target.ratio(atMost: 2)
    /// The cached pictures, and about 300 bytes per item.
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
