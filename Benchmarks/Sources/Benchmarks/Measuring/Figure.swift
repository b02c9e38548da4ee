// This source file is part of the Optimist open source project, under the MIT licence.

import Foundation

struct Figure {
    let name: String
    let measured: Measure
    var rival: (name: String, measure: Measure)?
    var ratio: Double?
    var target: Target?
    var point: GrowthPlot.Point?

    /// The rival was measured in the same rounds.
    init(_ name: String, _ pair: Paired, rows: Int? = nil, rival: String, target: Target? = nil) {
        func measure(_ samples: Samples) -> Measure { rows.map { .rate(rows: $0, samples) } ?? .time(samples) }
        self.name = name
        measured = measure(pair.subject)
        self.rival = (rival, measure(pair.rival))
        ratio = pair.ratio
        self.target = target
    }

    /// Creates a figure with a given ratio.
    init(_ name: String, _ measured: Measure, rival: (name: String, measure: Measure), ratio: Double, target: Target) {
        (self.name, self.measured, self.rival, self.ratio, self.target) = (name, measured, rival, ratio, target)
    }

    init(_ name: String, _ measured: Measure, target: Target? = nil) {
        self.name = name
        self.measured = measured
        self.target = target
    }
}

enum Measure: CustomStringConvertible {
    case time(Samples)
    /// The time per sample for a number of rows.
    case rate(rows: Int, Samples)
    case size(bytes: Double)
    case count(Double)

    var description: String {
        switch self {
        case .time(let samples): "\(text(samples.median)), p99 \(text(samples.p99))"
        case .rate(let rows, let samples): "\(text(samples.median)), \(grouped(Double(rows) / samples.median)) rows/s"
        case .size(let bytes): "\((bytes / 1e6).formatted(decimals: 2)) MB"
        case .count(let count): count.formatted(decimals: count == count.rounded() ? 0 : 2)
        }
    }

    private func text(_ seconds: Double) -> String {
        switch seconds {
        case ..<1e-6: "\((seconds * 1e9).formatted(decimals: 0)) ns"
        case ..<1e-3: "\((seconds * 1e6).formatted(decimals: 1)) µs"
        default: "\((seconds * 1e3).formatted(decimals: 1)) ms"
        }
    }
}

extension Double {
    func formatted(decimals: Int) -> String { String(format: "%.\(decimals)f", self) }
}

/// With thousands separators.
func grouped(_ number: Double) -> String {
    var digits = Array(number.formatted(decimals: 0))
    for index in stride(from: digits.count - 3, to: 0, by: -3) { digits.insert(",", at: index) }
    return String(digits)
}
