// This source file is part of the Optimist open source project, under the MIT licence.

package import Foundation

/// Runs each seed in a child process of its own, one for each core at a time, since one world runs on one thread.
///
/// What crashes, and what never ends, is so the failure of one seed and not the end of a campaign; and a seed meets in a
/// campaign what it meets alone.
package struct Workers: Sendable {
    /// The program, which must understand `arguments(seed)` and print a ``SeedOutcome`` as JSON.
    package var executable: URL
    package var arguments: @Sendable (_ seed: UInt64) -> [String]
    /// How many run at a time.
    package var count: Int

    package init(
        executable: URL, count: Int = max(1, ProcessInfo.processInfo.activeProcessorCount),
        arguments: @escaping @Sendable (_ seed: UInt64) -> [String]
    ) {
        self.executable = executable
        self.count = count
        self.arguments = arguments
    }

    /// The order of sets and dictionaries is the same in every run. A crash is counted, not explained: that takes longer
    /// than most runs, and running the seed alone explains it.
    private static var environment: [String: String] {
        ProcessInfo.processInfo.environment.merging(
            ["SWIFT_DETERMINISTIC_HASHING": "1", "SWIFT_BACKTRACE": "enable=no"]
        ) { $1 }
    }

    /// Runs seeds, until all were run or `next` says that it is enough. Those that were begun are run to their end.
    ///
    /// - Parameters:
    ///   - next: The seed to begin now. Nil: no more.
    ///   - done: Is told of each seed, in the order in which they end. An error that it throws ends the rest.
    /// - Throws: What `done` throws, and when the program cannot be started.
    package func run(next: () -> UInt64?, done: (SeedOutcome) throws -> Void) async throws {
        try await withThrowingTaskGroup(of: SeedOutcome.self) { group in
            func startOne() {
                if let seed = next() { group.addTask { try await run(seed) } }
            }
            for _ in 0..<count { startOne() }
            while let outcome = try await group.next() {
                try done(outcome)
                startOne()
            }
        }
    }

    @concurrent
    private func run(_ seed: UInt64) async throws -> SeedOutcome {
        let process = Process()
        process.executableURL = executable
        process.arguments = arguments(seed)
        process.environment = Self.environment
        let output = Pipe()
        process.standardOutput = output
        try process.run()
        let data = try output.fileHandleForReading.readToEnd() ?? Data()
        process.waitUntilExit()
        if let outcome = try? JSONDecoder().decode(SeedOutcome.self, from: data) { return outcome }
        return SeedOutcome(
            seed: seed,
            finding: Self.finding(status: process.terminationStatus, isSignal: process.terminationReason != .exit))
    }

    /// What a process that ended without a result says of its seed.
    static func finding(status: Int32, isSignal: Bool) -> String {
        guard isSignal else { return "crashed: ended with status \(status) and no result" }
        return TimeLimit.signals.contains(status)
            ? "endless: took longer than it may" : "crashed: ended by signal \(status)"
    }
}
