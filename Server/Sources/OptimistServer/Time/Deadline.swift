// This source file is part of the Optimist open source project, under the MIT licence.

/// Runs work with a deadline. Work that is late is cancelled, and its result is lost, but the function waits until the
/// work has ended.
///
/// - Parameters:
///   - limit: The longest time.
///   - late: The error after that time.
/// - Throws: `late`; the errors of the work; `CancellationError`.
package func withDeadline<Result: Sendable>(
    _ limit: Duration, clock: any Clock<Duration> = ContinuousClock(), late: any Error,
    _ work: @escaping @Sendable () async throws -> Result
) async throws -> Result {
    try await withThrowingTaskGroup(of: Result.self) { tasks in
        defer { tasks.cancelAll() }
        tasks.addTask { try await work() }
        tasks.addTask {
            try await clock.sleep(for: limit)
            throw late
        }
        guard let result = try await tasks.next() else { throw CancellationError() }
        return result
    }
}
