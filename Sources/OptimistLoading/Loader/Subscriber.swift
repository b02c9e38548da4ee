// This source file is part of the Optimist open source project, under the MIT licence.

public import Synchronization

/// Tells somebody what becomes of a key: one thing after the other, and nothing that has been overtaken.
@usableFromInline
final class Subscriber<Value: Sendable>: Sendable {
    @usableFromInline
    struct State: Sendable {
        /// At most one of each kind.
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
        let (isMine, overtaken) = state.withLock { state -> (Bool, [LoadEvent<Value>]) in
            guard !state.isClosed, version > state.version else { return (false, []) }
            state.version = version
            if state.isTelling { return (false, state.wait(event)) }
            state.isTelling = true
            return (true, [])
        }
        _ = overtaken  // Released here, where no lock is held.
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
        let untold = state.withLock { state in
            state.isClosed = true
            defer { state.waiting = [] }
            return state.waiting
        }
        _ = untold  // Released here, where no lock is held.
    }
}

extension Subscriber.State {
    /// Lets an event wait. Returns those that need not be told any more.
    @usableFromInline
    mutating func wait(_ event: LoadEvent<Value>) -> [LoadEvent<Value>] {
        let former = waiting
        waiting = former.filter { !event.overtakes($0) } + [event]
        return former
    }
}

extension LoadEvent {
    /// Whether nobody need be told something any more, since this has come.
    fileprivate func overtakes(_ former: Self) -> Bool {
        switch (self, former) {
        case (.value, _), (.progress, .progress), (.partial, .progress), (.partial, .partial): true
        case (.failure, .progress), (.failure, .failure): true
        default: false
        }
    }
}
