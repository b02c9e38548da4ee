// This source file is part of the Optimist open source project, under the MIT licence.

public import CoreMetrics
import Synchronization

/// A backend for swift-metrics that keeps metrics in memory and writes them in Prometheus' text format.
///
/// ```swift
/// let metrics = PrometheusMetrics()
/// MetricsSystem.bootstrap(metrics)    // once, before the server is made
/// ```
///
/// The server then answers `GET /metrics` on its ``ServerConfiguration/adminPort``. If the process bootstraps another
/// backend instead, the server's metrics go to that backend.
///
/// Timers become histograms from 1 ms to 60 s, recorders histograms from 1 to 4 million. Characters that Prometheus
/// does not allow in names become `_`. The memory is bounded: after ``maxSeries`` combinations of name and labels, new
/// combinations are dropped and counted in `optimist_metrics_dropped_total`. It is safe to use from any thread.
///
/// > Source: Prometheus, "Exposition formats", text-based format 0.0.4.
public final class PrometheusMetrics: MetricsFactory {
    package static let maxSeries = 5_000

    struct SeriesKey: Hashable {
        var name: String
        /// Without braces.
        var labels: String
    }

    enum Series {
        case counter(CounterSeries)
        case gauge(GaugeSeries)
        case histogram(HistogramSeries)

        var type: String {
            switch self {
            case .counter: "counter"
            case .gauge: "gauge"
            case .histogram: "histogram"
            }
        }
    }

    private struct State {
        var series: [SeriesKey: Series] = [:]
        var dropped: Int64 = 0
    }

    private let state = Mutex(State())

    /// Makes a backend without metrics.
    public init() {}

    /// The metrics in Prometheus' text format, sorted by name and labels.
    public var text: String {
        let (all, dropped) = state.withLock { ($0.series, $0.dropped) }
        var lines: [String] = []
        var last = ""
        let sorted = all.sorted { ($0.key.name, $0.key.labels) < ($1.key.name, $1.key.labels) }
        for (key, series) in sorted {
            if key.name != last { lines.append("# TYPE \(key.name) \(series.type)") }
            last = key.name
            switch series {
            case .counter(let counter): lines.append(Self.line(key, "\(counter.count)"))
            case .gauge(let gauge): lines.append(Self.line(key, "\(gauge.value)"))
            case .histogram(let histogram): lines += histogram.lines(key)
            }
        }
        lines += ["# TYPE optimist_metrics_dropped_total counter", "optimist_metrics_dropped_total \(dropped)", ""]
        return lines.joined(separator: "\n")
    }

    func total(of name: String) -> Int64 {
        state.withLock { $0.series.filter { $0.key.name == name }.values.reduce(0) { $0 + ($1.counter?.count ?? 0) } }
    }

    static func line(_ key: SeriesKey, suffix: String = "", _ value: String) -> String {
        "\(key.name)\(suffix)\(key.labels.isEmpty ? "" : "{\(key.labels)}") \(value)"
    }

    /// Returns the series of a name and labels, created if needed. Nil if the limit is reached or another kind uses the
    /// name.
    private func series<Kind>(
        _ label: String, _ suffix: String, _ dimensions: [(String, String)], _ make: () -> Series,
        _ kind: (Series) -> Kind?
    ) -> Kind? {
        let key = SeriesKey(label: label, suffix: suffix, dimensions: dimensions)
        return state.withLock { state in
            if let found = state.series[key] { return kind(found) }
            guard state.series.count < Self.maxSeries else {
                state.dropped += 1
                return nil
            }
            let made = make()
            state.series[key] = made
            return kind(made)
        }
    }

    private func remove(_ isMeant: (Series) -> Bool) {
        state.withLock { $0.series = $0.series.filter { !isMeant($0.value) } }
    }
}

// MARK: - MetricsFactory

extension PrometheusMetrics {
    public func makeCounter(label: String, dimensions: [(String, String)]) -> any CounterHandler {
        series(label, "_total", dimensions, { .counter(CounterSeries()) }) { $0.counter } ?? CounterSeries()
    }

    public func makeMeter(label: String, dimensions: [(String, String)]) -> any MeterHandler {
        series(label, "", dimensions, { .gauge(GaugeSeries()) }) { $0.gauge } ?? GaugeSeries()
    }

    public func makeRecorder(label: String, dimensions: [(String, String)], aggregate: Bool) -> any RecorderHandler {
        guard aggregate else {
            return series(label, "", dimensions, { .gauge(GaugeSeries()) }) { $0.gauge } ?? GaugeSeries()
        }
        let make = { HistogramSeries(bounds: HistogramSeries.sizes) }
        return series(label, "", dimensions, { .histogram(make()) }) { $0.histogram } ?? make()
    }

    public func makeTimer(label: String, dimensions: [(String, String)]) -> any TimerHandler {
        let make = { HistogramSeries(bounds: HistogramSeries.seconds) }
        return series(label, "_seconds", dimensions, { .histogram(make()) }) { $0.histogram } ?? make()
    }

    public func destroyCounter(_ handler: any CounterHandler) { remove { $0.counter === handler } }
    public func destroyMeter(_ handler: any MeterHandler) { remove { $0.gauge === handler } }
    public func destroyRecorder(_ handler: any RecorderHandler) {
        remove { $0.gauge === handler || $0.histogram === handler }
    }
    public func destroyTimer(_ handler: any TimerHandler) { remove { $0.histogram === handler } }
}

extension PrometheusMetrics.Series {
    var counter: CounterSeries? { if case .counter(let counter) = self { counter } else { nil } }
    var gauge: GaugeSeries? { if case .gauge(let gauge) = self { gauge } else { nil } }
    var histogram: HistogramSeries? { if case .histogram(let histogram) = self { histogram } else { nil } }
}

extension PrometheusMetrics.SeriesKey {
    init(label: String, suffix: String, dimensions: [(String, String)]) {
        let name = Self.name(label)
        self.name = name.hasSuffix(suffix) ? name : name + suffix
        labels = dimensions.map { "\(Self.name($0.0))=\"\(Self.escaped($0.1))\"" }.joined(separator: ",")
    }

    private static func name(_ text: String) -> String {
        let name = String(text.map { $0.isASCII && ($0.isLetter || $0.isNumber) ? $0 : "_" })
        return name.first?.isNumber == false ? name : "_" + name
    }

    private static func escaped(_ value: String) -> String {
        value.replacing("\\", with: "\\\\").replacing("\"", with: "\\\"").replacing("\n", with: "\\n")
    }
}
