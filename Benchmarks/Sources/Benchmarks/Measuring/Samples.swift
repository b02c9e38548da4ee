// This source file is part of the Optimist open source project, under the MIT licence.

/// Measured times, in seconds.
struct Samples {
    private let sorted: [Double]

    /// - Parameter seconds: Must not be empty.
    init(_ seconds: [Double]) {
        precondition(!seconds.isEmpty, "nothing was measured")
        sorted = seconds.sorted()
    }

    var median: Double { quantile(0.5) }
    var p99: Double { quantile(0.99) }

    /// Returns the smallest time that at least this share of the samples does not exceed.
    func quantile(_ share: Double) -> Double {
        sorted[min(sorted.count - 1, max(0, Int((share * Double(sorted.count)).rounded(.up)) - 1))]
    }
}
