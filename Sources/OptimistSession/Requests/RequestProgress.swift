// This source file is part of the Optimist open source project, under the MIT licence.

import OptimistCore

/// The progress of one logical request across its attempts, and its remaining time.
final class RequestProgress: Sendable {
    private struct State {
        var mayHaveArrived = false
        /// The phase of the current attempt. `notSent`: there is no attempt.
        var attempt = TransportError.Phase.notSent
        /// The answer that refused the last attempt's token, if any.
        var refusal: RefusedAnswer?
    }

    private let deadline: Duration?
    private let elapsed: Stopwatch
    private let state = Mutex(State())

    init(deadline: Duration?, clock: any Clock<Duration>) {
        self.deadline = deadline
        elapsed = Stopwatch(clock)
    }

    /// The remaining time. Nil: no deadline.
    var remaining: Duration? { deadline.map { $0 - elapsed() } }

    /// The phase to report if the request ends now.
    var phase: TransportError.Phase {
        state.withLock { $0.attempt == .notSent && $0.mayHaveArrived ? .maybeProcessed : $0.attempt }
    }

    func sends() {
        state.withLock { state in
            state.attempt = .maybeProcessed
            state.refusal = nil
        }
    }

    func hears() { state.withLock { $0.attempt = .responseStarted } }

    /// The server refused the attempt's token and so did not process the request.
    func refused(by answer: RefusedAnswer) {
        state.withLock { state in
            state.attempt = .notSent
            state.refusal = answer
        }
    }

    func failed(_ phase: TransportError.Phase) {
        state.withLock { state in
            state.mayHaveArrived = state.mayHaveArrived || phase != .notSent
            state.attempt = .notSent
        }
    }

    /// Turns the last attempt's error into the request's: the phase is `notSent` only if no attempt can have reached
    /// the server.
    func overall(_ error: TransportError) -> TransportError {
        guard error.phase == .notSent, phase != .notSent else { return error }
        return TransportError(error.kind, .maybeProcessed, cause: error.cause)
    }

    /// Adds the answer that refused a token as the error's cause, unless it already has a cause.
    func explaining(_ error: any Error) -> any Error {
        guard let error = error as? OptimistError, error.cause == nil, let refusal = state.withLock({ $0.refusal })
        else {
            return error
        }
        return OptimistError(error.code, error.message, remedy: error.remedy, cause: refusal)
    }
}
