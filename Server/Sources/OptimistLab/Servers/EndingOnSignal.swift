// This source file is part of the Optimist open source project, under the MIT licence.

import Synchronization
import UnixSignals

/// Runs work that must clean up before the process ends. Until the work is ready, SIGTERM and SIGINT cancel it.
///
/// - Parameter work: Calls its argument as soon as it handles the signals itself.
/// - Throws: `CancellationError` after a signal, or errors of the work.
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
        // After a signal, the work must still finish its cleanup.
        try await group.waitForAll()
        if !isDone { throw CancellationError() }
    }
}

/// Whether the work handles the signals itself.
private final class Readiness: Sendable {
    private let flag = Mutex(false)

    var isSet: Bool { flag.withLock(\.self) }

    func set() { flag.withLock { $0 = true } }
}
