// This source file is part of the Optimist open source project, under the MIT licence.

package import CoreMetrics
import Logging
import Metrics
@_spi(Internals) import OptimistServing
import Synchronization

/// The metrics that a server reports to swift-metrics. Every label comes from a small set, never from a path, id or
/// address. `Documentation/Operating.md` lists them for operators.
final class ServerMetrics: Sendable {
    private struct RequestKey: Hashable {
        var route: String
        var method: String
        var status: Int
    }
    private struct RequestSeries: Sendable {
        var requests: Counter
        var duration: Timer
    }

    let factory: any MetricsFactory
    private let requests = Mutex<[RequestKey: RequestSeries]>([:])
    private let pushes: Counter
    private let accepted: Counter
    private let merged: Counter
    private let conflicts: Counter
    private let refused: [String: Counter]
    private let events: [SecurityLog.Event: Counter]
    private let oldestPending: Recorder

    /// The codes of refused rows that have their own labels. Codes of apps count as ``otherCode``.
    static let codes = [
        "blocked", "forbidden", "groupFailed", "invalidArguments", "invalidPatch", "invalidProperties", "lifeUnknown",
        "notFound", "rateLimit", "schemaTooNew", "schemaTooOld", "tooLarge", "uniqueViolation", "valueTooNew",
        "willDestroy",
    ]
    static let otherCode = "other"
    /// One year. A device whose clock is wrong may report more.
    private static let maxPendingSeconds: Int64 = 366 * 86_400

    init(_ factory: any MetricsFactory) {
        self.factory = factory
        func counter(_ label: String, _ dimensions: [(String, String)] = []) -> Counter {
            Counter(label: label, dimensions: dimensions, factory: factory)
        }
        pushes = counter("optimist.pushes")
        accepted = counter("optimist.rows.accepted")
        merged = counter("optimist.rows.merged")
        conflicts = counter("optimist.rows.conflicting")
        refused = Dictionary(
            uniqueKeysWithValues: (Self.codes + [Self.otherCode]).map {
                ($0, counter("optimist.rows.refused", [("code", $0)]))
            })
        events = Dictionary(
            uniqueKeysWithValues: SecurityLog.Event.allCases.map {
                ($0, counter("optimist.security.events", [("event", $0.rawValue)]))
            })
        oldestPending = Recorder(
            label: "optimist.oldest.pending.seconds", dimensions: [], aggregate: true, factory: factory)
    }

    /// - Parameters:
    ///   - route: The route's template, not the path.
    ///   - duration: The time until the answer began.
    func answered(route: String, method: String, status: Int, after duration: Duration) {
        let key = RequestKey(route: route, method: method, status: status)
        let series = requests.withLock { requests in
            if let known = requests[key] { return known }
            let dimensions = [("route", route), ("method", method)]
            let made = RequestSeries(
                requests: Counter(
                    label: "optimist.http.requests", dimensions: dimensions + [("status", "\(status)")],
                    factory: factory),
                duration: Timer(label: "optimist.http.duration", dimensions: dimensions, factory: factory))
            requests[key] = made
            return made
        }
        series.requests.increment()
        series.duration.record(duration: duration)
    }

    func carriedOut(_ report: SetReport) {
        if report.isPush { pushes.increment() }
        if report.accepted > 0 { accepted.increment(by: report.accepted) }
        if report.merged > 0 { merged.increment(by: report.merged) }
        if report.conflicts > 0 { conflicts.increment(by: report.conflicts) }
        for (code, count) in report.refused { (refused[code] ?? refused[Self.otherCode])?.increment(by: count) }
        if let seconds = report.oldestPendingSeconds { oldestPending.record(min(seconds, Self.maxPendingSeconds)) }
    }

    func noted(_ event: SecurityLog.Event) { events[event]?.increment() }
}

extension ServerConfiguration {
    /// Nil if the process does not have a backend; the server then collects no metrics.
    package var metricsReceiver: (any MetricsFactory)? {
        let factory = metrics ?? MetricsSystem.factory
        return factory is NOOPMetricsHandler ? nil : factory
    }
}

package struct CommitMetrics: Sendable {
    private let writes: Recorder
    private let wait: Timer

    package init(_ factory: any MetricsFactory) {
        writes = Recorder(label: "optimist.commit.writes", dimensions: [], aggregate: true, factory: factory)
        wait = Timer(label: "optimist.commit.wait", dimensions: [], factory: factory)
    }

    func committed(writes count: Int) { writes.record(count) }
    /// - Parameter duration: How long a write waited for its transaction.
    func begun(after duration: Duration) { wait.record(duration: duration) }
}
