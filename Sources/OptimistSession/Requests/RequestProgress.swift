// This source file is part of the Optimist open source project, under the MIT licence.

import OptimistCore

/// How far one logical request has got, over all its attempts, and how much of its time is left.
final class RequestProgress: Sendable {
    private struct State {
        /// Whether an attempt that is over may have reached the server.
        var mayHaveArrived = false
        /// The phase of the attempt under way. `notSent`: there is no attempt.
        var attempt = TransportError.Phase.notSent
        /// The answer that refused the last attempt's token. Nil: none did.
        var refusal: RefusedAnswer?
    }

    private let deadline: Duration?
    private let elapsed: Stopwatch
    private let state = Mutex(State())

    init(deadline: Duration?, clock: any Clock<Duration>) {
        self.deadline = deadline
        elapsed = Stopwatch(clock)
    }

    /// The rest of its time. Nil: it has no end.
    var remaining: Duration? { deadline.map { $0 - elapsed() } }

    /// How far it has got if it ends now.
    var phase: TransportError.Phase {
        state.withLock { $0.attempt == .notSent && $0.mayHaveArrived ? .maybeProcessed : $0.attempt }
    }

    /// An attempt begins.
    func sends() {
        state.withLock { state in
            state.attempt = .maybeProcessed
            state.refusal = nil
        }
    }

    /// The head of an answer has arrived.
    func hears() { state.withLock { $0.attempt = .responseStarted } }

    /// The server refused the attempt's token, so it did nothing with it.
    func refused(by answer: RefusedAnswer) {
        state.withLock { state in
            state.attempt = .notSent
            state.refusal = answer
        }
    }

    /// An attempt has failed.
    func failed(_ phase: TransportError.Phase) {
        state.withLock { state in
            state.mayHaveArrived = state.mayHaveArrived || phase != .notSent
            state.attempt = .notSent
        }
    }

    /// The last attempt's error as that of the whole request: nothing was sent only if no attempt may have arrived.
    func overall(_ error: TransportError) -> TransportError {
        guard error.phase == .notSent, phase != .notSent else { return error }
        return TransportError(error.kind, .maybeProcessed, cause: error.cause)
    }

    /// The error with the refusal that led to it as its cause, if there is one and it has no other.
    func explaining(_ error: any Error) -> any Error {
        guard let error = error as? OptimistError, error.cause == nil, let refusal = state.withLock({ $0.refusal })
        else {
            return error
        }
        return OptimistError(error.code, error.message, remedy: error.remedy, cause: refusal)
    }
}
