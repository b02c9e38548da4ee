// This source file is part of the Optimist open source project, under the MIT licence.

import Synchronization
import UnixSignals

/// Runs work that leaves something behind if the process just ends: until it is ready, SIGTERM and SIGINT cancel it, so
/// that it can clean up.
///
/// - Parameter work: Calls its argument once it listens to the signals itself.
/// - Throws: `CancellationError` after a signal, or what the work throws.
func endingOnSignal(_ work: @escaping @Sendable (_ ready: @escaping @Sendable () -> Void) async throws -> Void)
    async throws
{
    let readiness = Readiness()
    try await withThrowingTaskGroup(of: Bool.self) { group in
        let signals = await UnixSignalsSequence(trapping: .sigterm, .sigint)
        group.addTask {
            try await work { readiness.set() }
            return true
        }
        group.addTask {
            for await _ in signals where !readiness.isSet { return false }
            return false
        }
        let isDone = try await group.next() ?? true
        group.cancelAll()
        // After a signal the work still ends what it has started.
        try await group.waitForAll()
        if !isDone { throw CancellationError() }
    }
}

/// Whether the work listens to the signals itself.
private final class Readiness: Sendable {
    private let flag = Mutex(false)

    var isSet: Bool { flag.withLock(\.self) }

    func set() { flag.withLock { $0 = true } }
}
