// This source file is part of the Optimist open source project, under the MIT licence.

import OptimistCore
import OptimistSession

/// A streaming response whose messages arrive in order, until it breaks.
@available(macOS 15, iOS 18, tvOS 18, watchOS 11, visionOS 2, *)
final class SimulatedStream: Sendable {
    private struct State {
        var isOpen = true
        /// The spaces that the stream hears of.
        var spaces: Set<String> = []
        /// Later messages must not arrive before this time.
        var lastArrival = Duration.zero
    }

    /// The person who listens.
    let person: String
    let chunks: AsyncThrowingStream<[UInt8], any Error>
    private let continuation: AsyncThrowingStream<[UInt8], any Error>.Continuation
    private let link: SimulatedLink
    private let state = Mutex(State())

    init(person: String, over link: SimulatedLink) {
        self.person = person
        self.link = link
        (chunks, continuation) = AsyncThrowingStream.makeStream()
        continuation.onTermination = { [weak self] _ in self?.state.withLock { $0.isOpen = false } }
    }

    var isOpen: Bool { state.withLock { $0.isOpen } }

    var spaces: Set<String> {
        get { state.withLock { $0.spaces } }
        set { state.withLock { $0.spaces = newValue } }
    }

    func send(_ text: String) {
        guard isOpen else { return }
        guard let delay = link.streamDelay() else {
            // A broken stream is silent, so only a timeout reveals it.
            return state.withLock { $0.isOpen = false }
        }
        let scheduler = link.scheduler
        let arrival = state.withLock { state in
            state.lastArrival = max(state.lastArrival, scheduler.now + delay)
            return state.lastArrival
        }
        scheduler.after(arrival - scheduler.now) { [continuation] in continuation.yield(Array(text.utf8)) }
    }

    /// Ends the connection, visibly to both sides.
    func cut() {
        state.withLock { $0.isOpen = false }
        continuation.finish(throwing: TransportError(.broken, .responseStarted))
    }
}
