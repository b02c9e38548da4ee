// This source file is part of the Optimist open source project, under the MIT licence.

import ArgumentParser
import Foundation
import Logging
import OptimistLab
import OptimistProxy
import Synchronization

/// `optimist bench --stories`.
struct BenchCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "bench", abstract: "Play the five stories in the old way and with Optimist, and compare.",
        discussion: """
            Starts a server and phones, over simulated mobile networks, and takes a few minutes. Benchmarks of single \
            parts are in the package Benchmarks.
            """)

    @Flag(help: "Play the five stories.")
    var stories = false

    @Option(
        help: ArgumentHelp("The networks, with commas between: online, 4g, 3g, flaky.", valueName: "networks"),
        transform: Self.networks)
    var on = [NetworkConditions.Profile.fourG, .threeG, .flaky]

    @Option(help: ArgumentHelp("Write a plot to this file.", valueName: "file"))
    var svg: String?

    func validate() throws {
        guard stories else { throw ValidationError("Choose what to measure: --stories.") }
    }

    func run() async throws {
        var logger = Logger(label: "optimist.bench", factory: { StreamLogHandler.standardError(label: $0) })
        logger.logLevel = .error
        let figures = Mutex<[StoryFigure]>([])
        try await explainingErrors(of: "bench", at: "the stories") {
            try await StoryBench(logger: logger).run(on: on) { figure in
                figures.withLock { $0.append(figure) }
                let line = "\(figure.network.title): \(figure.measure.title): "
                tell("\(line)\(figure.text(figure.oldWay)) → \(figure.text(figure.optimist))")
            }
            let all = figures.withLock { $0 }
            say(StoryTable(all).markdown)
            if let svg { try Data(StoryPlot(all).svg.utf8).write(to: URL(filePath: svg)) }
        }
    }

    private static func networks(_ text: String) throws -> [NetworkConditions.Profile] {
        try text.split(separator: ",").map { name in
            guard let network = NetworkConditions.Profile(rawValue: name.lowercased()), network != .offline else {
                throw ValidationError("\(name) is not a network of this command. Use online, 4g, 3g or flaky.")
            }
            return network
        }
    }
}
