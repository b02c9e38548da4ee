// This source file is part of the Optimist open source project, under the MIT licence.

/// Runs work with a deadline.
///
/// - Throws: ``TransportError`` of kind `timedOut`; the errors of the work; `CancellationError`.
func withDeadline<Result: Sendable>(
    _ deadline: Duration, clock: any Clock<Duration>, _ work: @escaping @Sendable () async throws -> Result
) async throws -> Result {
    try await firstOf([
        work,
        {
            try await clock.sleep(for: deadline)
            throw TransportError(.timedOut, .maybeProcessed)
        },
    ])
}

/// Runs several tasks concurrently, returns the result of the first to finish, and cancels the others.
package func firstOf<Result: Sendable>(_ works: [@Sendable () async throws -> Result]) async throws -> Result {
    try await withThrowingTaskGroup(of: Result.self) { group in
        defer { group.cancelAll() }
        for work in works { group.addTask { try await work() } }
        guard let first = try await group.next() else { throw CancellationError() }
        return first
    }
}
