// This source file is part of the Optimist open source project, under the MIT licence.

import OptimistCore

/// Wakes all waiting requests when the network returns or changes. One watcher serves all of them, and it runs only
/// while a request waits.
final class NetworkChanges: Sendable {
    private struct State {
        var waiting = 0
        var watcher: Task<Void, Never>?
        var version = 1
    }

    private let reachability: any Reachability
    private let dependencies: Dependencies
    private let state = Mutex(State())
    private let changes = Newest<NetworkPath?>(nil)

    init(_ reachability: any Reachability, _ dependencies: Dependencies) {
        self.reachability = reachability
        self.dependencies = dependencies
    }

    /// Waits for the next change to a usable network.
    ///
    /// - Throws: `CancellationError`.
    func next() async throws {
        var seen = 0
        _ = await changes.next(after: &seen)
        beginWaiting()
        defer { endWaiting() }
        while let path = await changes.next(after: &seen) {
            if path?.isOnline == true { return }
        }
        throw CancellationError()
    }

    private func beginWaiting() {
        state.withLock { state in
            state.waiting += 1
            guard state.watcher == nil else { return }
            state.watcher = dependencies.spawn { [weak self] in await self?.watch() }
        }
    }

    private func endWaiting() {
        state.withLock { state in
            state.waiting -= 1
            guard state.waiting == 0 else { return }
            state.watcher?.cancel()
            state.watcher = nil
        }
    }

    private func watch() async {
        var former: NetworkPath?
        for await path in reachability.updates {
            defer { former = path }
            guard let former, former != path else { continue }
            let version = state.withLock { state in
                state.version += 1
                return state.version
            }
            changes.publish(path, version: version)
        }
    }
}
