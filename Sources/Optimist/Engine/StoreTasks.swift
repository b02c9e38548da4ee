// This source file is part of the Optimist open source project, under the MIT licence.

import OptimistCore

/// The tasks of an engine that use its store.
///
/// At the end of a run, they are cancelled and awaited, so that none holds a lock on the file afterwards. A cancelled
/// task may be within a transaction, but never waits for the network (``PromptRemote``).
final class StoreTasks: Sendable {
    private struct State {
        var lastID = 0
        /// Nil while a task is being started.
        var tasks: [Int: Task<Void, Never>?] = [:]
    }

    private let dependencies: Dependencies
    private let state = Mutex(State())

    init(_ dependencies: Dependencies) { self.dependencies = dependencies }

    func spawn(_ operation: @escaping @Sendable () async -> Void) -> Task<Void, Never> {
        let id = state.withLock { state in
            state.lastID += 1
            state.tasks.updateValue(nil, forKey: state.lastID)
            return state.lastID
        }
        let task = dependencies.spawn { [self] in
            await operation()
            state.withLock { _ = $0.tasks.removeValue(forKey: id) }
        }
        state.withLock { state in
            if state.tasks[id] != nil { state.tasks.updateValue(task, forKey: id) }
        }
        return task
    }

    /// A task may start another one.
    func untilDone() async {
        while let task = state.withLock({ $0.tasks.values.compactMap(\.self).first }) { await task.value }
    }
}
