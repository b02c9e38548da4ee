// This source file is part of the Optimist open source project, under the MIT licence.

import Synchronization

/// The events that wait for the engine's loop, in the order in which they came.
///
/// Bounded by the work under way: each lane, timer and watcher has at most one event waiting. Writes and pokes come
/// together when they come fast.
final class Inbox: Sendable {
    /// An event with the number of the work that it comes from. Nil: from outside.
    struct Signal: Sendable {
        var event: SyncMachine.Event
        var work: Int?
    }

    private let continuation = Mutex<AsyncStream<Signal>.Continuation?>(nil)

    /// Returns the events from now on, or nil while another caller takes them.
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

    /// Whether a caller takes the events.
    var isOpen: Bool { continuation.withLock { $0 != nil } }

    func put(_ event: SyncMachine.Event, from work: Int? = nil) {
        _ = continuation.withLock { $0 }?.yield(Signal(event: event, work: work))
    }
}
