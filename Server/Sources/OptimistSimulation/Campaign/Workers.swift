// This source file is part of the Optimist open source project, under the MIT licence.

package import Foundation

/// Runs each seed in its own child process, with one process per core at a time.
///
/// A crash or an endless loop is then a failure of one seed, and a seed takes the same course as when it runs alone.
package struct Workers: Sendable {
    /// The program. It accepts `arguments(seed)` and prints a ``SeedOutcome`` as JSON.
    package var executable: URL
    package var arguments: @Sendable (_ seed: UInt64) -> [String]
    package var count: Int

    package init(
        executable: URL, count: Int = max(1, ProcessInfo.processInfo.activeProcessorCount),
        arguments: @escaping @Sendable (_ seed: UInt64) -> [String]
    ) {
        self.executable = executable
        self.count = count
        self.arguments = arguments
    }

    /// Fixes the order of sets and dictionaries. Backtraces are off, because they take longer than most runs.
    private static var environment: [String: String] {
        ProcessInfo.processInfo.environment.merging(
            ["SWIFT_DETERMINISTIC_HASHING": "1", "SWIFT_BACKTRACE": "enable=no"]
        ) { $1 }
    }

    /// Runs seeds until `next` returns nil, then waits for the running ones.
    ///
    /// - Parameters:
    ///   - next: Returns the next seed.
    ///   - done: Receives each outcome, in the order of completion. An error it throws cancels the rest.
    /// - Throws: Errors of `done`. Also if the program cannot be started.
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

    static func finding(status: Int32, isSignal: Bool) -> String {
        guard isSignal else { return "crashed: ended with status \(status) and no result" }
        return TimeLimit.signals.contains(status)
            ? "endless: exceeded its time limit" : "crashed: ended by signal \(status)"
    }
}
