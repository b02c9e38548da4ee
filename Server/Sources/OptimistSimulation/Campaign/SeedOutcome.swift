// This source file is part of the Optimist open source project, under the MIT licence.

/// The result of one seed.
package struct SeedOutcome: Codable, Sendable, Hashable {
    package var seed: UInt64
    /// The first broken promise, as `kind: sentence`, or how the process failed. Nil if the seed passed.
    package var finding: String?
    /// Whether the run reached its end.
    package var didEnd = true
    package var virtualHours = 0.0
    package var cpuSeconds = 0.0
    package var jobs = 0
    package var writes = 0
    /// How often each kind of fault occurred.
    package var reached: [String: Int] = [:]

    package init(_ report: RunReport, cpuSeconds: Double) {
        seed = report.plan.seed
        finding = report.findings.first
        virtualHours = report.virtualTime / .seconds(3600)
        self.cpuSeconds = cpuSeconds
        jobs = report.jobs
        writes = report.writes
        reached = report.reached
    }

    package init(seed: UInt64, finding: String) {
        self.seed = seed
        self.finding = finding
        didEnd = false
    }
}
