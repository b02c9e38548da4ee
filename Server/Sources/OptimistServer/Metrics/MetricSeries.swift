// This source file is part of the Optimist open source project, under the MIT licence.

import CoreMetrics
import Synchronization

final class CounterSeries: CounterHandler {
    private let number = Atomic<Int64>(0)

    var count: Int64 { number.load(ordering: .relaxed) }

    /// Wraps around after the largest number.
    func increment(by amount: Int64) { number.wrappingAdd(amount, ordering: .relaxed) }
    func reset() { number.store(0, ordering: .relaxed) }
}

final class GaugeSeries: MeterHandler, RecorderHandler {
    private let number = Mutex(0.0)

    var value: Double { number.withLock(\.self) }

    func set(_ value: Int64) { set(Double(value)) }
    func set(_ value: Double) { number.withLock { $0 = value } }
    func increment(by amount: Double) { number.withLock { $0 += amount } }
    func decrement(by amount: Double) { number.withLock { $0 -= amount } }
    func record(_ value: Int64) { set(value) }
    func record(_ value: Double) { set(value) }
}

final class HistogramSeries: RecorderHandler, TimerHandler {
    /// In seconds.
    static let seconds = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60]
    /// Powers of four up to four million. In seconds that is 48 days.
    static let sizes = (0...11).map { Double(1 << (2 * $0)) }

    private struct Counts {
        /// The last interval is unbounded.
        var intervals: [UInt64]
        var sum = 0.0
    }

    private let bounds: [Double]
    private let counts: Mutex<Counts>

    init(bounds: [Double]) {
        self.bounds = bounds
        counts = Mutex(Counts(intervals: Array(repeating: 0, count: bounds.count + 1)))
    }

    func recordNanoseconds(_ duration: Int64) { record(Double(duration) / 1e9) }
    func record(_ value: Int64) { record(Double(value)) }

    func record(_ value: Double) {
        let interval = bounds.firstIndex { value <= $0 } ?? bounds.count
        counts.withLock { counts in
            counts.intervals[interval] += 1
            counts.sum += value
        }
    }

    func lines(_ key: PrometheusMetrics.SeriesKey) -> [String] {
        let counts = counts.withLock(\.self)
        var total: UInt64 = 0
        var lines: [String] = []
        for (bound, count) in zip(bounds.map { "\($0)" } + ["+Inf"], counts.intervals) {
            total += count
            var bucket = key
            bucket.labels += "\(key.labels.isEmpty ? "" : ",")le=\"\(bound)\""
            lines.append(PrometheusMetrics.line(bucket, suffix: "_bucket", "\(total)"))
        }
        return lines + [
            PrometheusMetrics.line(key, suffix: "_sum", "\(counts.sum)"),
            PrometheusMetrics.line(key, suffix: "_count", "\(total)"),
        ]
    }
}
