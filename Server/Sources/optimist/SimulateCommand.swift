// This source file is part of the Optimist open source project, under the MIT licence.

import ArgumentParser
import Foundation
import OptimistSimulation

struct SimulateCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "simulate",
        abstract: "Runs devices, a server and all that can go wrong between them, from a seed.",
        discussion: """
            Each seed is a world of its own: devices that write, networks that lose, processes and disks that fail, and in             the end judges who look for what was lost. The first seed that breaks a promise ends the run with a trace.
            """)

    @Option(help: "How many seeds to run.")
    var seeds = 200

    @Option(help: "The first seed.")
    var from: UInt64 = 1

    @Option(help: "Runs this one seed and prints what happened in it.")
    var seed: UInt64?

    @Option(help: "Runs a plan that was saved, and prints what happened in it.", completion: .file())
    var plan: String?

    @Option(help: "Ends after this many minutes, whatever is left.")
    var minutes: Double?

    @Option(help: "Adds to what is noted in this file, and begins after the last seed noted there.")
    var resume: String?

    @Flag(help: "Takes events away from a plan that fails for as long as it still fails.")
    var shrink = false

    @Option(help: "Where to save the plan that fails.")
    var save: String?

    func run() throws {
        if let seed { return try show(Plan(drawnFrom: seed)) }
        if let plan { return try show(Plan(contentsOf: URL(filePath: plan))) }
        for seed in from..<(from + UInt64(seeds)) {
            let report = WorldRun.run(Plan(drawnFrom: seed))
            if !report.findings.isEmpty { print(seed, report.findings) }
        }
    }

    private func show(_ plan: Plan) throws {
        var report = WorldRun.run(plan, isLogging: true)
        if shrink, !report.findings.isEmpty {
            report = WorldRun.run(Shrinking.shrink(plan, report.findings), isLogging: true)
        }
        for line in report.log { print(line) }
        print("trace \(String(report.trace, radix: 16)), \(report.jobs) jobs, \(report.virtualTime)")
        for finding in report.findings { print("✘ \(finding)") }
        if let save { try report.plan.serialized().write(to: URL(filePath: save)) }
        if !report.findings.isEmpty { throw ExitCode.failure }
    }
}
