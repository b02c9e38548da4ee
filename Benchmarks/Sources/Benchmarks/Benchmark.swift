// This source file is part of the Optimist open source project, under the MIT licence.

/// Something that is measured: one or more lines of the table.
protocol Benchmark: Sendable {
    /// What `--only` is compared with.
    static var name: String { get }

    init(effort: Effort)

    /// Measures, and hands over each figure as soon as it is there.
    ///
    /// - Parameter folder: Outlives the benchmark, since databases open files for as long as they live.
    func run(in folder: ScratchFolder, _ report: (Figure) -> Void) async throws
}

/// How much is done for each figure.
struct Effort: Sendable {
    /// Few rounds with few rows: it shows that the benchmarks run, and no more.
    var isQuick: Bool
    var gauge: Gauge

    func rounds(_ full: Int) -> Int { isQuick ? 2 : full }
    func rows(_ full: Int) -> Int { isQuick ? max(100, full / 20) : full }
}
