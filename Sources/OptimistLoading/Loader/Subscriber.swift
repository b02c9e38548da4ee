// This source file is part of the Optimist open source project, under the MIT licence.

public import OptimistCore

/// Delivers the events of a key to a subscriber one at a time, and skips superseded events.
@usableFromInline
final class Subscriber<Value: Sendable>: Sendable {
    @usableFromInline let receive: @Sendable (LoadEvent<Value>) -> Void
    @usableFromInline let turns = Mutex(Turns())

    @inlinable
    init(_ receive: @escaping @Sendable (LoadEvent<Value>) -> Void) { self.receive = receive }

    /// - Parameter version: Later decisions have higher versions, but may be delivered first: see ``Turns``.
    @inlinable
    func tell(_ event: LoadEvent<Value>, version: Int) {
        let (isMine, overtaken) = turns.withLock { turns in
            turns.take(event.kind, version) { { [receive] in receive(event) } }
        }
        _ = overtaken  // Released here, without a lock.
        guard isMine else { return }
        receive(event)
        while let next = turns.withLock({ $0.next() }) { next.tell() }
    }

    @inlinable
    func close() {
        let untold = turns.withLock { $0.close() }
        _ = untold  // Released here, without a lock.
    }
}

extension LoadEvent {
    @usableFromInline var kind: LoadEventKind {
        switch self {
        case .progress: .progress
        case .partial: .partial
        case .value: .value
        case .failure: .failure
        }
    }
}
