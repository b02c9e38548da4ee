// This source file is part of the Optimist open source project, under the MIT licence.

import ServiceLifecycle
import Synchronization

/// The port that a server listens on, for callers that wait for it.
final class Binding: Sendable {
    private struct State {
        var result: Result<Int, any Error>?
        var waiters: [CheckedContinuation<Int, any Error>] = []
        var group: ServiceGroup?
        var isShutDown = false
    }

    private let state = Mutex(State())

    var port: Int {
        get async throws {
            try await withCheckedThrowingContinuation { continuation in
                let result = state.withLock { state in
                    if state.result == nil { state.waiters.append(continuation) }
                    return state.result
                }
                if let result { continuation.resume(with: result) }
            }
        }
    }

    func succeed(_ port: Int) { settle(.success(port)) }

    func fail(_ error: any Error) { settle(.failure(error)) }

    private func settle(_ result: Result<Int, any Error>) {
        let waiters = state.withLock { state in
            defer { state.waiters = [] }
            if state.result == nil { state.result = result }
            return state.waiters
        }
        for waiter in waiters { waiter.resume(with: result) }
    }

    /// - Returns: False if the server was already shut down.
    func begin(_ group: ServiceGroup) -> Bool {
        state.withLock { state in
            state.group = group
            return !state.isShutDown
        }
    }

    func shutDown() async {
        let group = state.withLock { state in
            state.isShutDown = true
            return state.group
        }
        await group?.triggerGracefulShutdown()
    }
}
