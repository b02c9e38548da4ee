// This source file is part of the Optimist open source project, under the MIT licence.

public import Foundation

/// What many runs came to.
public struct CampaignTotals: Codable, Sendable, Hashable {
    public var seeds = 0
    /// The seed after the last one that was run.
    public var next: UInt64
    public var virtualHours = 0.0
    public var cpuSeconds = 0.0
    public var jobs = 0
    public var writes = 0
    /// How often each kind of trouble was met.
    public var reached: [String: Int] = [:]
    /// The seeds that broke a promise.
    public var failed: [UInt64] = []

    public init(from seed: UInt64) { next = seed }

    /// Reads what an earlier campaign noted.
    public init(contentsOf url: URL) throws {
        self = try JSONDecoder().decode(Self.self, from: Data(contentsOf: url))
    }

    public func save(to url: URL) throws {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .prettyPrinted]
        try encoder.encode(self).write(to: url, options: .atomic)
    }

    public mutating func add(_ report: RunReport, cpuSeconds: Double) {
        seeds += 1
        next = max(next, report.plan.seed + 1)
        virtualHours += report.virtualTime / .seconds(3600)
        self.cpuSeconds += cpuSeconds
        jobs += report.jobs
        writes += report.writes
        reached.merge(report.reached, uniquingKeysWith: +)
        if !report.findings.isEmpty { failed.append(report.plan.seed) }
    }

    public mutating func add(_ other: CampaignTotals) {
        seeds += other.seeds
        next = max(next, other.next)
        virtualHours += other.virtualHours
        cpuSeconds += other.cpuSeconds
        jobs += other.jobs
        writes += other.writes
        reached.merge(other.reached, uniquingKeysWith: +)
        failed = (failed + other.failed).sorted()
    }

    /// A few lines for people.
    public var summary: String {
        let kinds = reached.sorted { $0.key < $1.key }.map { "\($0.key) \($0.value)" }.joined(separator: ", ")
        let failures = failed.isEmpty ? "" : ": " + failed.map(String.init).joined(separator: " ")
        let rate = String(format: "%.2f", Double(seeds) / max(cpuSeconds, 0.001))
        return [
            "\(seeds) seeds, \(failed.count) failing\(failures)",
            "\(String(format: "%.1f", virtualHours)) virtual hours, \(writes) writes, \(jobs) jobs",
            "\(rate) seeds per CPU second", "met: \(kinds)",
        ].joined(separator: "\n")
    }
}
