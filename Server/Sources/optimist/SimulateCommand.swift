// This source file is part of the Optimist open source project, under the MIT licence.

import ArgumentParser
import Foundation
import OptimistSimulation

#if canImport(Glibc)
    import Glibc
#elseif canImport(Darwin)
    import Darwin
#endif

struct SimulateCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "simulate",
        abstract: "Runs devices, a server and all that can go wrong between them, from a seed.",
        discussion: """
            Each seed is a world of its own: devices that write, networks that lose, processes and disks that fail, and in \
            the end judges who look for what was lost. The first seed that breaks a promise ends the run with its trace.
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

    @Option(help: "Begins after the seeds that are noted in this file, and notes there what was run.")
    var resume: String?

    @Flag(help: "Takes events away from a plan that fails for as long as it still fails.")
    var shrink = false

    @Option(help: "Where to save the plan that fails.", completion: .file())
    var save: String?

    @Flag(help: ArgumentHelp("Runs the seeds here and prints the totals as JSON.", visibility: .hidden))
    var worker = false

    func run() async throws {
        try beDeterministic()
        if let seed { return try show(Plan(drawnFrom: seed)) }
        if let plan { return try show(Plan(contentsOf: URL(filePath: plan))) }
        if worker { return try work() }
        try await campaign()
    }

    /// Starts this program anew if the order of sets and dictionaries is not fixed: it is read before `main`.
    private func beDeterministic() throws {
        guard ProcessInfo.processInfo.environment["SWIFT_DETERMINISTIC_HASHING"] == nil else { return }
        setenv("SWIFT_DETERMINISTIC_HASHING", "1", 1)
        var arguments: [UnsafeMutablePointer<CChar>?] = CommandLine.arguments.map { strdup($0) } + [nil]
        execv(Self.executable.path, &arguments)
        throw ValidationError("The program cannot start itself anew.")
    }

    private static var executable: URL {
        URL(filePath: Bundle.main.executablePath ?? CommandLine.arguments[0])
    }

    private func work() throws {
        var totals = CampaignTotals(from: from)
        for seed in from..<(from + UInt64(seeds)) where totals.failed.isEmpty {
            let start = Self.cpuSeconds
            totals.add(WorldRun.run(Plan(drawnFrom: seed)), cpuSeconds: Self.cpuSeconds - start)
        }
        let encoded = try JSONEncoder().encode(totals)
        FileHandle.standardOutput.write(encoded)
    }

    private static var cpuSeconds: Double {
        var time = timespec()
        clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time)
        return Double(time.tv_sec) + Double(time.tv_nsec) / 1e9
    }

    private func campaign() async throws {
        let file = resume.map { URL(filePath: $0) }
        var totals = CampaignTotals(from: from)
        if let file, FileManager.default.fileExists(atPath: file.path) { totals = try CampaignTotals(contentsOf: file) }
        let workers = Workers(executable: Self.executable) { first, count in
            ["simulate", "--worker", "--from", "\(first)", "--seeds", "\(count)"]
        }
        let deadline = minutes.map { Date(timeIntervalSinceNow: $0 * 60) } ?? .distantFuture
        let done = try await workers.run(from: totals.next, count: seeds, until: deadline) { part in
            FileHandle.standardError.write(Data("\r\(part.seeds) seeds, \(part.failed.count) failing ".utf8))
        }
        FileHandle.standardError.write(Data("\r".utf8))
        totals.add(done)
        if let file { try totals.save(to: file) }
        print(totals.summary)
        print("\(totals.seeds - totals.failed.count) passed, \(totals.failed.count) failed")
        if let first = done.failed.first { try show(Plan(drawnFrom: first)) }
    }

    private func show(_ plan: Plan) throws {
        var report = WorldRun.run(plan, isLogging: true)
        if shrink, !report.findings.isEmpty {
            report = WorldRun.run(Shrinking.shrink(plan, report.findings), isLogging: true)
        }
        for line in report.log { print(line) }
        print(
            "seed \(plan.seed), trace \(String(report.trace, radix: 16)), \(report.plan.events.count) events, "
                + "\(report.jobs) jobs, \(report.virtualTime)")
        for finding in report.findings { print("✘ \(finding)") }
        if let save { try report.plan.serialized().write(to: URL(filePath: save)) }
        if !report.findings.isEmpty { throw ExitCode.failure }
    }
}
