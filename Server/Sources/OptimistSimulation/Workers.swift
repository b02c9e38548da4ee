// This source file is part of the Optimist open source project, under the MIT licence.

public import Foundation

/// Runs seeds in child processes, one for each core, since one world runs on one thread.
public struct Workers: Sendable {
    /// The program, which must understand `arguments(first, count)` and print its totals as JSON in one line.
    public var executable: URL
    public var arguments: @Sendable (_ first: UInt64, _ count: Int) -> [String]
    public var count: Int

    public init(
        executable: URL, count: Int = max(1, ProcessInfo.processInfo.activeProcessorCount),
        arguments: @escaping @Sendable (_ first: UInt64, _ count: Int) -> [String]
    ) {
        self.executable = executable
        self.count = count
        self.arguments = arguments
    }

    /// The environment in which the order of sets and dictionaries is the same in every run.
    public static var environment: [String: String] {
        ProcessInfo.processInfo.environment.merging(["SWIFT_DETERMINISTIC_HASHING": "1"]) { $1 }
    }

    /// Runs seeds in portions, until there are enough, one fails, or the time is over.
    ///
    /// - Parameters:
    ///   - progress: Called after each portion, from one task.
    /// - Returns: The totals of what was run.
    public func run(
        from first: UInt64, count seeds: Int, portion: Int = 5, until deadline: Date = .distantFuture,
        progress: @escaping (CampaignTotals) -> Void
    ) async throws -> CampaignTotals {
        var totals = CampaignTotals(from: first)
        let end = first + UInt64(seeds)
        var next = first
        return try await withThrowingTaskGroup(of: CampaignTotals.self) { group in
            func startOne() {
                guard next < end, Date() < deadline, totals.failed.isEmpty else { return }
                let (start, size) = (next, min(portion, Int(end - next)))
                next += UInt64(size)
                group.addTask { try await runPortion(start, size) }
            }
            for _ in 0..<count { startOne() }
            while let part = try await group.next() {
                totals.add(part)
                progress(totals)
                startOne()
            }
            return totals
        }
    }

    @concurrent
    private func runPortion(_ first: UInt64, _ count: Int) async throws -> CampaignTotals {
        let process = Process()
        process.executableURL = executable
        process.arguments = arguments(first, count)
        process.environment = Self.environment
        let output = Pipe()
        process.standardOutput = output
        try process.run()
        let data = try output.fileHandleForReading.readToEnd() ?? Data()
        process.waitUntilExit()
        guard let totals = try? JSONDecoder().decode(CampaignTotals.self, from: data) else {
            throw WorkerFailure(first: first, count: count, status: process.terminationStatus)
        }
        return totals
    }
}

/// A child process that ended without a result: it crashed.
public struct WorkerFailure: Error, CustomStringConvertible {
    public var first: UInt64
    public var count: Int
    public var status: Int32

    public var description: String {
        "The process that ran seeds \(first) to \(first + UInt64(count) - 1) ended with \(status) and no result."
    }
}
