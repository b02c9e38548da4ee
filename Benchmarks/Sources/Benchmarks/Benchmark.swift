// This source file is part of the Optimist open source project, under the MIT licence.

/// A measurement with one or more lines in the table.
protocol Benchmark: Sendable {
    static var name: String { get }

    init(effort: Effort)

    /// - Parameter folder: Outlives the benchmark, because databases open files as long as they exist.
    func run(in folder: ScratchFolder, _ report: (Figure) -> Void) async throws
}

struct Effort: Sendable {
    /// Few rounds and rows, only to show that the benchmarks run.
    var isQuick: Bool
    var gauge: Gauge

    func rounds(_ full: Int) -> Int { isQuick ? 2 : full }
    func rows(_ full: Int) -> Int { isQuick ? max(100, full / 20) : full }
}
