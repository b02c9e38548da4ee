// This source file is part of the Optimist open source project, under the MIT licence.

/// What became of one seed, as far as a campaign counts it.
package struct SeedOutcome: Codable, Sendable, Hashable {
    package var seed: UInt64
    /// The first broken promise, as `kind: sentence`, or how the run ended instead of judging. Nil: none was broken.
    package var finding: String?
    /// Whether the run came to its end.
    package var didEnd = true
    package var virtualHours = 0.0
    package var cpuSeconds = 0.0
    package var jobs = 0
    package var writes = 0
    /// How often each kind of trouble was met.
    package var reached: [String: Int] = [:]

    /// The outcome of a run that came to its end.
    package init(_ report: RunReport, cpuSeconds: Double) {
        seed = report.plan.seed
        finding = report.findings.first
        virtualHours = report.virtualTime / .seconds(3600)
        self.cpuSeconds = cpuSeconds
        jobs = report.jobs
        writes = report.writes
        reached = report.reached
    }

    /// The outcome of a run that did not.
    package init(seed: UInt64, finding: String) {
        self.seed = seed
        self.finding = finding
        didEnd = false
    }
}
