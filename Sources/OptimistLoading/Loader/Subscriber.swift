// This source file is part of the Optimist open source project, under the MIT licence.

public import Synchronization

/// Tells somebody what becomes of a key: one thing after the other, and nothing that has been overtaken.
@usableFromInline
final class Subscriber<Value: Sendable>: Sendable {
    @usableFromInline
    struct State: Sendable {
        @usableFromInline var waiting: [LoadEvent<Value>] = []
        @usableFromInline var isTelling = false
        @usableFromInline var isClosed = false
        @usableFromInline var version = 0

        @inlinable init() {}
    }

    @usableFromInline let receive: @Sendable (LoadEvent<Value>) -> Void
    @usableFromInline let state: Mutex<State>

    @inlinable
    init(_ receive: @escaping @Sendable (LoadEvent<Value>) -> Void) {
        self.receive = receive
        state = Mutex(State())
    }

    /// - Parameter version: What was decided later has a higher one. Whatever comes after it is dropped.
    @inlinable
    func tell(_ event: LoadEvent<Value>, version: Int) {
        let isMine = state.withLock { state in
            guard !state.isClosed, version > state.version else { return false }
            state.version = version
            if state.isTelling {
                state.waiting.append(event)
                return false
            }
            state.isTelling = true
            return true
        }
        guard isMine else { return }
        receive(event)
        while let next = next() { receive(next) }
    }

    @inlinable
    func next() -> LoadEvent<Value>? {
        state.withLock { state in
            guard !state.isClosed, !state.waiting.isEmpty else {
                state.isTelling = false
                return nil
            }
            return state.waiting.removeFirst()
        }
    }

    /// Nothing more is told from now on.
    @inlinable
    func close() {
        state.withLock { state in
            state.isClosed = true
            state.waiting = []
        }
    }
}
