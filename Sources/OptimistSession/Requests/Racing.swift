// This source file is part of the Optimist open source project, under the MIT licence.

/// Runs work until it is done or the time is over, whichever comes first.
///
/// - Throws: ``TransportError`` of kind `timedOut`; whatever the work throws; `CancellationError`.
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

/// Runs several works at once, gives what the first to end gives, and cancels the others.
package func firstOf<Result: Sendable>(_ works: [@Sendable () async throws -> Result]) async throws -> Result {
    try await withThrowingTaskGroup(of: Result.self) { group in
        defer { group.cancelAll() }
        for work in works { group.addTask { try await work() } }
        guard let first = try await group.next() else { throw CancellationError() }
        return first
    }
}
