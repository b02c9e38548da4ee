// This source file is part of the Optimist open source project, under the MIT licence.

import OptimistCore

/// The events that wait for the engine's loop, in the order of their arrival.
///
/// The work under way bounds their number: each lane, timer and watcher has at most one event waiting. Writes and pokes
/// that arrive fast are combined into one event.
final class Inbox: Sendable {
    /// An event, and the number of the work that produced it. Nil: it comes from outside the engine.
    struct Signal: Sendable {
        var event: SyncMachine.Event
        var work: Int?
        /// Is told the phase once no push or pull is under way after this event.
        var waiter: Waiter?
    }

    typealias Waiter = AsyncStream<SyncStatus.Phase>.Continuation

    private let continuation = Mutex<AsyncStream<Signal>.Continuation?>(nil)

    /// Returns the events from now on, or nil while another caller reads them.
    func open() -> AsyncStream<Signal>? {
        continuation.withLock { continuation in
            guard continuation == nil else { return nil }
            let (stream, new) = AsyncStream<Signal>.makeStream()
            continuation = new
            return stream
        }
    }

    func close() {
        let closed = continuation.withLock { continuation in
            defer { continuation = nil }
            return continuation
        }
        closed?.finish()
    }

    /// Whether a caller reads the events.
    var isOpen: Bool { continuation.withLock { $0 != nil } }

    func put(_ event: SyncMachine.Event, from work: Int? = nil, waiter: Waiter? = nil) {
        _ = continuation.withLock { $0 }?.yield(Signal(event: event, work: work, waiter: waiter))
    }
}
