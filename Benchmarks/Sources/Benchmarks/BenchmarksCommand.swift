// This source file is part of the Optimist open source project, under the MIT licence.

import ArgumentParser
import Foundation

@main
struct BenchmarksCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "benchmarks",
        abstract: "Compare Optimist with the libraries that it uses, in alternating rounds, and check its targets.",
        discussion: "Build it for release. Times are medians; the ratio is the median of the rounds' ratios.")

    private static let all: [any Benchmark.Type] = [
        LocalWrite.self, BulkWrite.self, Delivery.self, FirstSync.self, PushOut.self, Sharing.self, Opening.self,
        Growth.self, MillionRows.self, SessionStorms.self, SessionCancels.self, SessionOverhead.self,
        NobodyThere.self, MemoryHits.self, Loads.self, DiskEntries.self, Eviction.self, FeedScroll.self,
    ]

    @Flag(help: "Use few rounds with few rows, to check that everything runs. The figures are meaningless.")
    var quick = false

    @Option(help: "Run only this benchmark: \(all.map { $0.name }.joined(separator: ", ")).")
    var only: String?

    @Option(help: "Write an SVG plot of the costs that grow with the number of rows.", completion: .file())
    var plot: String?

    @Option(help: "What to measure: wall-clock time, or CPU time for a machine that is not idle.")
    var gauge = Gauge.wall

    func validate() throws {
        guard let only, !Self.all.contains(where: { $0.name == only }) else { return }
        throw ValidationError("The benchmark \"\(only)\" does not exist.")
    }

    func run() async throws {
        print(Machine())
        print()
        let table = Table()
        table.printHead()
        var growth: [GrowthPlot.Point] = []
        for benchmark in Self.all where only == nil || only == benchmark.name {
            let benchmark = benchmark.init(effort: Effort(isQuick: quick, gauge: gauge))
            try await ScratchFolder.using { folder in
                try await benchmark.run(in: folder) { figure in
                    table.printLine(of: figure)
                    if let point = figure.point { growth.append(point) }
                }
            }
        }
        if let plot { try GrowthPlot(growth).svg.write(toFile: plot, atomically: true, encoding: .utf8) }
    }
}
