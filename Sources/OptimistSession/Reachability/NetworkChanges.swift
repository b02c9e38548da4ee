// This source file is part of the Optimist open source project, under the MIT licence.

import OptimistCore
import Synchronization

/// Tells many who wait for a network at once when one comes back, or another one is there. The system is watched once for all
/// of them, and only while somebody waits.
final class NetworkChanges: Sendable {
    private struct State {
        var lastID = 0
        var waiting: [Int: CheckedContinuation<Void, any Error>] = [:]
        var watcher: Task<Void, Never>?
        var path: NetworkPath?
    }

    private let reachability: any Reachability
    private let surroundings: Surroundings
    private let state = Mutex(State())

    init(_ reachability: any Reachability, _ surroundings: Surroundings) {
        self.reachability = reachability
        self.surroundings = surroundings
    }

    /// Returns at the next change to a network that is there.
    ///
    /// - Throws: `CancellationError`.
    func next() async throws {
        let id = state.withLock { state in
            state.lastID += 1
            return state.lastID
        }
        try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { waiting in
                let isCancelled = state.withLock { state in
                    if Task.isCancelled { return true }
                    state.waiting[id] = waiting
                    if state.watcher == nil {
                        state.watcher = surroundings.spawn { [weak self] in await self?.watch() }
                    }
                    return false
                }
                if isCancelled { waiting.resume(throwing: CancellationError()) }
            }
        } onCancel: {
            let waiting = state.withLock { state in
                defer { Self.rest(&state) }
                return state.waiting.removeValue(forKey: id)
            }
            waiting?.resume(throwing: CancellationError())
        }
    }

    private func watch() async {
        for await path in reachability.updates {
            let woken = state.withLock { state in
                defer { state.path = path }
                guard path.isOnline, let former = state.path, former != path else {
                    return [:] as [Int: CheckedContinuation<Void, any Error>]
                }
                defer {
                    state.waiting = [:]
                    Self.rest(&state)
                }
                return state.waiting
            }
            for (_, waiting) in woken.sorted(by: { $0.key < $1.key }) { waiting.resume() }
            if Task.isCancelled { return }
        }
    }

    /// Watches no more when nobody waits.
    private static func rest(_ state: inout State) {
        guard state.waiting.isEmpty else { return }
        state.watcher?.cancel()
        (state.watcher, state.path) = (nil, nil)
    }
}
