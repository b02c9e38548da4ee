// This source file is part of the Optimist open source project, under the MIT licence.

import Foundation
import Testing

@testable import OptimistSimulation

@Suite("Campaigns", .timeLimit(.minutes(20)))
struct CampaignTests {
    private static func outcome(_ seed: UInt64, finding: String? = nil) -> SeedOutcome {
        var outcome = SeedOutcome(seed: seed, finding: "")
        outcome.finding = finding
        outcome.virtualHours = 0.5
        outcome.cpuSeconds = 2
        outcome.reached = ["kill": 3]
        return outcome
    }

    @Test func `a seed that was run ahead of its turn is not run again`() {
        var totals = CampaignTotals(from: 5)
        for seed in [6, 8, 9] as [UInt64] { totals.add(Self.outcome(seed)) }
        #expect(totals.next == 5)
        #expect(totals.remaining(4) == [5, 7, 10, 11])
        totals.add(Self.outcome(5))
        #expect(totals.next == 7)
        totals.add(Self.outcome(7))
        #expect(totals.next == 10)
        #expect(totals.ahead.isEmpty)
    }

    @Test func `a campaign's totals are the sums over its seeds`() {
        var totals = CampaignTotals(from: 1)
        for seed in 1...4 as ClosedRange<UInt64> { totals.add(Self.outcome(seed)) }
        #expect(totals.seeds == 4)
        #expect(totals.virtualHours == 2)
        #expect(totals.reached == ["kill": 12])
        #expect(totals.summary.contains("4 seeds, 0 failing"))
        #expect(totals.summary.contains("0.50 seeds per CPU second"))
    }

    @Test func `the summary names failures and events that never occurred`() {
        var totals = CampaignTotals(from: 1)
        totals.add(Self.outcome(2, finding: "stuck: for ever"))
        totals.add(Self.outcome(1, finding: "lost: a value"))
        #expect(totals.failed.map(\.seed) == [1, 2])
        #expect(totals.summary.hasSuffix("✘ seed 1: lost: a value\n✘ seed 2: stuck: for ever"))
        #expect(totals.summary.contains("\nmet: kill 6\nnot met: "))
        #expect(!totals.summary.contains("not met: kill"))
    }

    @Test func `a campaign continues where it was saved`() throws {
        var totals = CampaignTotals(from: 1)
        for seed in [1, 2, 4] as [UInt64] { totals.add(Self.outcome(seed, finding: seed == 2 ? "stuck: " : nil)) }
        let file = FileManager.default.temporaryDirectory.appending(path: "totals-\(UUID().uuidString).json")
        defer { try? FileManager.default.removeItem(at: file) }
        try totals.save(to: file)
        #expect(try CampaignTotals(contentsOf: file) == totals)
        #expect(try CampaignTotals(contentsOf: file).remaining(2) == [3, 5])
    }

    /// Runs seeds in a shell instead of simulated worlds.
    private func run(_ seeds: [UInt64], _ script: String) async throws -> [UInt64: SeedOutcome] {
        var (left, outcomes) = (seeds[...], [UInt64: SeedOutcome]())
        let workers = Workers(executable: URL(filePath: "/bin/sh"), count: 2) { ["-c", script, "sh", "\($0)"] }
        try await workers.run {
            left.popFirst()
        } done: {
            outcomes[$0.seed] = $0
        }
        return outcomes
    }

    @Test func `a run ended by the time limit is called endless`() {
        #expect(Workers.finding(status: SIGXCPU, isSignal: true).hasPrefix("endless: "))
        #expect(Workers.finding(status: SIGKILL, isSignal: true) == "crashed: ended by signal 9")
        #expect(Workers.finding(status: SIGXCPU, isSignal: false).hasPrefix("crashed: "))
    }

    @Test func `a seed that crashes counts as failed, and the others are run`() async throws {
        let good = String(decoding: try JSONEncoder().encode(Self.outcome(9)), as: UTF8.self)
        let outcomes = try await run(
            [6, 8, 9],
            "case $1 in 6) kill -SEGV $$;; 8) exit 3;; 9) printf '%s' '\(good)';; esac")
        #expect(outcomes[6]?.finding == "crashed: ended by signal \(SIGSEGV)")
        #expect(outcomes[8]?.finding == "crashed: ended with status 3 and no result")
        #expect(outcomes[9] == Self.outcome(9))
        #expect(outcomes[6]?.didEnd == false)
    }
}
