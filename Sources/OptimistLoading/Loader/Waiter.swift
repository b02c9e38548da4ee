// This source file is part of the Optimist open source project, under the MIT licence.

import OptimistCore

/// A task that waits for one value, and cancels its subscription when it resumes.
final class Waiter<Value: Sendable>: Sendable {
    private struct State {
        var continuation: CheckedContinuation<Value, any Error>?
        var ticket: LoadSubscription?
        var outcome: Result<Value, any Error>?
    }

    private let state = Mutex(State())

    /// - Returns: False if the task was cancelled before it began to wait.
    func wait(_ continuation: CheckedContinuation<Value, any Error>) -> Bool {
        let outcome = state.withLock { state in
            if state.outcome == nil { state.continuation = continuation }
            return state.outcome
        }
        if let outcome { continuation.resume(with: outcome) }
        return outcome == nil
    }

    func keep(_ ticket: LoadSubscription) {
        let isOver = state.withLock { state in
            if state.outcome == nil { state.ticket = ticket }
            return state.outcome != nil
        }
        if isOver { ticket.cancel() }
    }

    func end(_ outcome: Result<Value, any Error>) {
        let (continuation, ticket) = state.withLock { state in
            guard state.outcome == nil else {
                return (nil as CheckedContinuation<Value, any Error>?, nil as LoadSubscription?)
            }
            state.outcome = outcome
            defer { (state.continuation, state.ticket) = (nil, nil) }
            return (state.continuation, state.ticket)
        }
        continuation?.resume(with: outcome)
        ticket?.cancel()
    }
}
