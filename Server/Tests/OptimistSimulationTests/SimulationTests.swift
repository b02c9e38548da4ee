// This source file is part of the Optimist open source project, under the MIT licence.

import Foundation
import OptimistSimulation
import TestForm
import Testing

@Suite("The simulation", .timeLimit(.minutes(20)))
struct SimulationTests {
    /// Set by Scripts/test. Without it, the order of sets and dictionaries differs between runs.
    static let isRepeatable = ProcessInfo.processInfo.environment["SWIFT_DETERMINISTIC_HASHING"] != nil

    /// The worlds of seeds 17 and 22 are among the shortest.
    @Test(
        .enabled(if: isRepeatable, "needs SWIFT_DETERMINISTIC_HASHING=1"),
        arguments: TestForm.of(short: [17], full: [2, 6, 17] as [UInt64]))
    func `the same seed repeats its trace, and another seed differs`(seed: UInt64) {
        let trace = WorldRun.run(Plan(drawnFrom: seed)).trace
        #expect(WorldRun.run(Plan(drawnFrom: seed)).trace == trace)
        #expect(WorldRun.run(Plan(drawnFrom: 22)).trace != trace)
    }

    @Test func `a plan can be saved and read again`() throws {
        let plan = Plan(drawnFrom: 3)
        let file = FileManager.default.temporaryDirectory.appending(path: "plan-\(UUID().uuidString).json")
        defer { try? FileManager.default.removeItem(at: file) }
        try plan.serialized().write(to: file)
        #expect(try Plan(contentsOf: file) == plan)
    }

    /// Each of these worlds failed once. `optimist simulate --seed N --shrink --save FILE` saves such a world. The
    /// short form of the tests runs every fortieth, because each takes seconds.
    static let saved: [URL] = {
        let all = (Bundle.module.urls(forResourcesWithExtension: "json", subdirectory: "Seeds") ?? []).map { $0 as URL }
            .sorted { $0.path < $1.path }
        return stride(from: 0, to: all.count, by: TestForm.of(short: 40, full: 1)).map { all[$0] }
    }()

    @Test(arguments: saved)
    func `a world that failed once no longer fails`(file: URL) throws {
        #expect(WorldRun.run(try Plan(contentsOf: file)).findings == [])
    }
}
