// This source file is part of the Optimist open source project, under the MIT licence.

import OptimistCore

/// Work that several tasks wait for. It runs once, and every waiting task gets its result.
///
/// When the last waiting task is cancelled, so is the work. The next task starts it again.
final class SharedWork<Value: Sendable>: Sendable {
    private struct State {
        var lastID = 0
        var waiting: [Int: CheckedContinuation<Value, any Error>] = [:]
        /// Counts runs, to distinguish a cancelled run from the next.
        var run = 0
        var isRunning = false
        var task: Task<Void, Never>?
    }

    private let state = Mutex(State())

    var waitingCount: Int { state.withLock { $0.waiting.count } }

    /// Joins the running work, or starts it.
    ///
    /// - Throws: What the work throws; `CancellationError` if the calling task is cancelled.
    func value(
        _ spawn: (_ operation: @escaping @Sendable () async -> Void) -> Task<Void, Never>,
        _ work: @escaping @Sendable () async throws -> Value
    ) async throws -> Value {
        let id = state.withLock { state in
            state.lastID += 1
            return state.lastID
        }
        return try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { continuation in
                let run = join(id, continuation)
                if let run { keep(spawn { [self] in await perform(run, work) }, for: run) }
                if Task.isCancelled { leave(id) }
            }
        } onCancel: {
            leave(id)
        }
    }

    /// - Returns: The number of the run to start, or nil if one is running.
    private func join(_ id: Int, _ continuation: CheckedContinuation<Value, any Error>) -> Int? {
        state.withLock { state in
            state.waiting[id] = continuation
            if state.isRunning { return nil }
            state.isRunning = true
            state.run += 1
            return state.run
        }
    }

    private func keep(_ task: Task<Void, Never>, for run: Int) {
        let isWanted = state.withLock { state in
            guard state.isRunning, state.run == run else { return false }
            state.task = task
            return true
        }
        if !isWanted { task.cancel() }
    }

    private func perform(_ run: Int, _ work: @Sendable () async throws -> Value) async {
        let result: Result<Value, any Error>
        do { result = .success(try await work()) } catch { result = .failure(error) }
        let waiting = state.withLock { state in
            guard state.isRunning, state.run == run else { return [:] as [Int: CheckedContinuation<Value, any Error>] }
            defer { (state.isRunning, state.task, state.waiting) = (false, nil, [:]) }
            return state.waiting
        }
        for (_, waiter) in waiting.sorted(by: { $0.key < $1.key }) { waiter.resume(with: result) }
    }

    private func leave(_ id: Int) {
        let (waiter, task) = state.withLock { state in
            let waiter = state.waiting.removeValue(forKey: id)
            guard state.waiting.isEmpty, state.isRunning else { return (waiter, nil as Task<Void, Never>?) }
            defer { (state.isRunning, state.task) = (false, nil) }
            return (waiter, state.task)
        }
        task?.cancel()
        waiter?.resume(throwing: CancellationError())
    }
}
