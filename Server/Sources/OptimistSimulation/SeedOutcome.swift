// This source file is part of the Optimist open source project, under the MIT licence.

/// What became of one seed, as far as a campaign counts it.
public struct SeedOutcome: Codable, Sendable, Hashable {
    public var seed: UInt64
    /// The first broken promise, as `kind: sentence`, or how the run ended instead of judging. Nil: none was broken.
    public var finding: String?
    /// Whether the run came to its end.
    public var didEnd = true
    public var virtualHours = 0.0
    public var cpuSeconds = 0.0
    public var jobs = 0
    public var writes = 0
    /// How often each kind of trouble was met.
    public var reached: [String: Int] = [:]

    /// The outcome of a run that came to its end.
    public init(_ report: RunReport, cpuSeconds: Double) {
        seed = report.plan.seed
        finding = report.findings.first
        virtualHours = report.virtualTime / .seconds(3600)
        self.cpuSeconds = cpuSeconds
        jobs = report.jobs
        writes = report.writes
        reached = report.reached
    }

    /// The outcome of a run that did not.
    public init(seed: UInt64, finding: String) {
        self.seed = seed
        self.finding = finding
        didEnd = false
    }
}
