// This source file is part of the Optimist open source project, under the MIT licence.

import OptimistCore

/// Work in a separate task, which another task can end with an error.
final class Interruptible<Value: Sendable>: Sendable {
    private struct State {
        var outcome: Result<Value, any Error>?
        var task: Task<Void, Never>?
    }

    private let state = Mutex(State())

    /// Ends the work with an error, unless it has already ended.
    func interrupt(_ error: any Error) {
        let task = state.withLock { state in
            if state.outcome == nil { state.outcome = .failure(error) }
            return state.task
        }
        task?.cancel()
    }

    /// Runs the work, once. Returns when it has ended, even after an interruption or cancellation.
    func run(
        _ spawn: (_ operation: @escaping @Sendable () async -> Void) -> Task<Void, Never>,
        _ work: @escaping @Sendable () async throws -> Value
    ) async -> Result<Value, any Error> {
        let task = spawn { [self] in
            let result: Result<Value, any Error>
            do { result = .success(try await work()) } catch { result = .failure(error) }
            state.withLock { state in
                if state.outcome == nil { state.outcome = result }
            }
        }
        let isOver = state.withLock { state in
            state.task = task
            return state.outcome != nil
        }
        if isOver { task.cancel() }
        await withTaskCancellationHandler {
            await task.value
        } onCancel: {
            task.cancel()
        }
        return state.withLock { $0.outcome } ?? .failure(CancellationError())
    }
}
