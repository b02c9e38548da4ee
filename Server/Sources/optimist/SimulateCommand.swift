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
        abstract: "Simulate devices, a server and their failures, from a seed.",
        discussion: """
            Each seed determines a simulated world: devices write, networks lose messages, processes and disks fail, \
            and finally checkers look for lost data. Every seed runs in its own process, so that a crash or an endless \
            loop counts as a failure of that seed. The first failure of this run is printed with its trace. The exit \
            status is 1 if any seed failed in this run or in an earlier run with the same --resume.
            """)

    @Option(help: "How many seeds to run.")
    var seeds = 200

    @Option(help: "The first seed.")
    var from: UInt64 = 1

    @Option(help: "Run only this seed and print its trace.")
    var seed: UInt64?

    @Flag(help: "Run worlds of several people, who share rows in spaces.")
    var sharing = false

    @Option(help: "Run a saved plan and print its trace.", completion: .file())
    var plan: String?

    @Option(help: "Do not start more seeds after this many minutes.")
    var minutes: Double?

    @Option(help: "The CPU seconds that a seed may use; the limit in wall-clock time is ten times this.")
    var limit = 300

    @Option(
        help: "Continue after the seeds recorded in this file, and record every finished seed in it.",
        completion: .file())
    var resume: String?

    @Flag(help: "Do not start more seeds after a failure.")
    var failFast = false

    @Flag(help: "Remove events from a failing plan while it still fails.")
    var shrink = false

    @Option(help: "Where to save the failing plan.", completion: .file())
    var save: String?

    @Option(
        help: ArgumentHelp(
            "A PostgreSQL database for the server's rows, instead of a file on a simulated disk.",
            discussion: "The server's disk then never fails, and the database does not use the simulated clock.",
            valueName: "url"))
    var store: String?

    @Flag(help: ArgumentHelp("Run the seed and print its outcome as JSON.", visibility: .hidden))
    var worker = false

    func validate() throws {
        guard seeds >= 0, limit > 0 else { throw ValidationError("--seeds and --limit cannot be negative.") }
    }

    func run() async throws {
        try beDeterministic()
        if let seed { return try worker ? work(seed) : show(drawn(seed)) }
        if let plan { return try show(Plan(contentsOf: URL(filePath: plan))) }
        try await campaign()
    }

    /// Restarts this program unless hashing is deterministic. The variable is read before `main`.
    private func beDeterministic() throws {
        guard ProcessInfo.processInfo.environment["SWIFT_DETERMINISTIC_HASHING"] == nil else { return }
        setenv("SWIFT_DETERMINISTIC_HASHING", "1", 1)
        var arguments: [UnsafeMutablePointer<CChar>?] = CommandLine.arguments.map { strdup($0) } + [nil]
        execv(Self.executable.path, &arguments)
        throw ValidationError("The program cannot restart itself.")
    }

    private static var executable: URL {
        URL(filePath: Bundle.main.executablePath ?? CommandLine.arguments[0])
    }

    private func work(_ seed: UInt64) throws {
        TimeLimit.set(cpuSeconds: limit)
        let report = try run(drawn(seed))
        let outcome = SeedOutcome(report, cpuSeconds: Self.cpuSeconds)
        try FileHandle.standardOutput.write(contentsOf: JSONEncoder().encode(outcome))
    }

    private func drawn(_ seed: UInt64) -> Plan { sharing ? Plan(ofSharingDrawnFrom: seed) : Plan(drawnFrom: seed) }

    private func run(_ plan: Plan, isLogging: Bool = false) throws -> RunReport {
        guard let store else { return WorldRun.run(plan, isLogging: isLogging) }
        return try WorldRun.run(plan, isLogging: isLogging, database: store)
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
        var left = totals.remaining(seeds)[...]
        var news: [SeedOutcome] = []
        let deadline = minutes.map { Date(timeIntervalSinceNow: $0 * 60) } ?? .distantFuture
        let store = (self.store.map { ["--store", $0] } ?? []) + (sharing ? ["--sharing"] : [])
        let workers = Workers(executable: Self.executable) { [limit] seed in
            ["simulate", "--worker", "--seed", "\(seed)", "--limit", "\(limit)"] + store
        }
        try await workers.run {
            Date() < deadline && (news.isEmpty || !failFast) ? left.popFirst() : nil
        } done: { outcome in
            totals.add(outcome)
            if outcome.finding != nil { news.append(outcome) }
            if let file { try totals.save(to: file) }
            showProgress(totals)
        }
        print(totals.summary)
        print("\(totals.seeds - totals.failed.count) passed, \(totals.failed.count) failed")
        if let first = news.min(by: { $0.seed < $1.seed }) { try show(first) }
        if !totals.failed.isEmpty { throw ExitCode.failure }
    }

    /// Overwrites the previous progress, if standard error is a terminal.
    private func showProgress(_ totals: CampaignTotals) {
        guard isatty(STDERR_FILENO) != 0 else { return }
        hint("\(totals.seeds) seeds, \(totals.failed.count) failing ")
    }

    /// Shows a failure of the campaign. A failure that killed its process is only named, because it would also kill
    /// this process.
    private func show(_ failure: SeedOutcome) throws {
        guard failure.didEnd else {
            return print(
                "Run it alone to see why: optimist simulate\(sharing ? " --sharing" : "") --seed \(failure.seed)")
        }
        try show(drawn(failure.seed))
    }

    private func show(_ plan: Plan) throws {
        var report = try run(plan, isLogging: true)
        if shrink, !report.findings.isEmpty {
            report = try run(Shrinking.shrink(plan, report.findings), isLogging: true)
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
