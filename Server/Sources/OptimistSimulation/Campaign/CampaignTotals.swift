// This source file is part of the Optimist open source project, under the MIT licence.

package import Foundation

/// A campaign of many seeds, which can be saved after any seed and resumed.
package struct CampaignTotals: Codable, Sendable, Hashable {
    /// A seed that broke a promise, crashed, or did not end.
    package struct Failure: Codable, Sendable, Hashable {
        package var seed: UInt64
        /// The first finding, as `kind: sentence`.
        package var finding: String
    }

    package private(set) var seeds = 0
    /// The first seed that has not finished.
    package private(set) var next: UInt64
    /// The finished seeds after `next`. A slow seed may end after its successors.
    package private(set) var ahead: Set<UInt64> = []
    package private(set) var virtualHours = 0.0
    package private(set) var cpuSeconds = 0.0
    package private(set) var jobs = 0
    package private(set) var writes = 0
    /// How often each kind of fault occurred.
    package private(set) var reached: [String: Int] = [:]
    package private(set) var failed: [Failure] = []

    package init(from seed: UInt64) { next = seed }

    package init(contentsOf url: URL) throws {
        self = try JSONDecoder().decode(Self.self, from: Data(contentsOf: url))
    }

    /// Writes the totals atomically, so that a crash leaves the previous file.
    package func save(to url: URL) throws {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .prettyPrinted]
        try encoder.encode(self).write(to: url, options: .atomic)
    }

    package func remaining(_ count: Int) -> [UInt64] {
        Array((next...).lazy.filter { !ahead.contains($0) }.prefix(count))
    }

    package mutating func add(_ outcome: SeedOutcome) {
        seeds += 1
        virtualHours += outcome.virtualHours
        cpuSeconds += outcome.cpuSeconds
        jobs += outcome.jobs
        writes += outcome.writes
        reached.merge(outcome.reached, uniquingKeysWith: +)
        if let finding = outcome.finding {
            failed.append(Failure(seed: outcome.seed, finding: finding))
            failed.sort { $0.seed < $1.seed }
        }
        ahead.insert(outcome.seed)
        while ahead.remove(next) != nil { next += 1 }
    }

    package var summary: String {
        let met = reached.filter { $0.value > 0 }
        let kinds = met.sorted { $0.key < $1.key }.map { "\($0.key) \($0.value)" }.joined(separator: ", ")
        let unmet = Plan.Kind.allCases.map(\.rawValue).filter { met[$0] == nil }.joined(separator: ", ")
        let rate = cpuSeconds > 0 ? String(format: "%.2f", Double(seeds) / cpuSeconds) : "–"
        var lines = [
            "\(seeds) seeds, \(failed.count) failing",
            "\(String(format: "%.1f", virtualHours)) virtual hours, \(writes) writes, \(jobs) jobs",
            "\(rate) seeds per CPU second", "met: \(kinds)",
        ]
        if !unmet.isEmpty { lines.append("not met: \(unmet)") }
        lines += failed.map { "✘ seed \($0.seed): \($0.finding)" }
        return lines.joined(separator: "\n")
    }
}
