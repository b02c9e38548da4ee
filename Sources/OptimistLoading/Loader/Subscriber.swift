// This source file is part of the Optimist open source project, under the MIT licence.

public import Synchronization

/// Tells somebody what becomes of a key: one thing after the other, and nothing that has been overtaken.
@usableFromInline
final class Subscriber<Value: Sendable>: Sendable {
    @usableFromInline let receive: @Sendable (LoadEvent<Value>) -> Void
    @usableFromInline let turns = Mutex(Turns())

    @inlinable
    init(_ receive: @escaping @Sendable (LoadEvent<Value>) -> Void) { self.receive = receive }

    /// - Parameter version: What was decided later has a higher one. Whatever comes after it is dropped.
    @inlinable
    func tell(_ event: LoadEvent<Value>, version: Int) {
        let (isMine, overtaken) = turns.withLock { turns in
            turns.take(version) { Turns.Untold(kind: event.kind) { [receive] in receive(event) } }
        }
        _ = overtaken  // Released here, where no lock is held.
        guard isMine else { return }
        receive(event)
        while let next = turns.withLock({ $0.next() }) { next.tell() }
    }

    /// Nothing more is told from now on.
    @inlinable
    func close() {
        let untold = turns.withLock { $0.close() }
        _ = untold  // Released here, where no lock is held.
    }
}

/// Whose turn it is to tell a subscriber something. Knows nothing of values, so that making and ending one is cheap.
@usableFromInline
struct Turns: Sendable {
    /// What somebody else's turn keeps waiting.
    @usableFromInline
    struct Untold: Sendable {
        let kind: LoadEventKind
        @usableFromInline let tell: @Sendable () -> Void

        @usableFromInline
        init(kind: LoadEventKind, tell: @escaping @Sendable () -> Void) {
            self.kind = kind
            self.tell = tell
        }
    }

    /// At most one of each kind.
    private var waiting: [Untold] = []
    private var isTelling = false
    private var isClosed = false
    private var version = 0

    @usableFromInline init() {}

    /// Takes the turn, unless somebody has it: then the news wait.
    ///
    /// - Returns: Whether it is the caller's turn, until ``next()`` has returned nil; and what need not be told any more.
    @usableFromInline
    mutating func take(_ version: Int, orWait untold: () -> Untold) -> (isMine: Bool, overtaken: [Untold]) {
        guard !isClosed, version > self.version else { return (false, []) }
        self.version = version
        if isTelling {
            let (former, news) = (waiting, untold())
            waiting = former.filter { !news.kind.overtakes($0.kind) } + [news]
            return (false, former)
        }
        isTelling = true
        return (true, [])
    }

    @usableFromInline
    mutating func next() -> Untold? {
        guard !waiting.isEmpty else {
            isTelling = false
            return nil
        }
        return waiting.removeFirst()
    }

    @usableFromInline
    mutating func close() -> [Untold] {
        isClosed = true
        defer { waiting = [] }
        return waiting
    }
}

@usableFromInline
enum LoadEventKind: Sendable {
    case progress, partial, value, failure

    /// Whether nobody need be told something any more, since this has come.
    func overtakes(_ former: Self) -> Bool {
        switch (self, former) {
        case (.value, _), (.progress, .progress), (.partial, .progress), (.partial, .partial): true
        case (.failure, .progress), (.failure, .failure): true
        default: false
        }
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
