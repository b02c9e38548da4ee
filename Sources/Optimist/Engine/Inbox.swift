// This source file is part of the Optimist open source project, under the MIT licence.

import OptimistCore

/// The events that wait for the engine's loop, in order of arrival. There are few events: each lane, timer and watcher
/// has at most one event waiting, and rapid writes and pokes are combined.
final class Inbox: Sendable {
    /// An event, and the number of the work that produced it. The number is nil for an event from outside the engine.
    struct Signal: Sendable {
        var event: SyncMachine.Event
        var work: Int?
        /// Receives the phase as soon as the engine has handled this event and no push or pull is running.
        var waiter: Waiter?
    }

    typealias Waiter = AsyncStream<SyncStatus.Phase>.Continuation

    private let continuation = Mutex<AsyncStream<Signal>.Continuation?>(nil)

    /// Returns a stream of the events that arrive after this call. Nil while another caller reads events.
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

    var isOpen: Bool { continuation.withLock { $0 != nil } }

    func put(_ event: SyncMachine.Event, from work: Int? = nil, waiter: Waiter? = nil) {
        _ = continuation.withLock { $0 }?.yield(Signal(event: event, work: work, waiter: waiter))
    }
}
