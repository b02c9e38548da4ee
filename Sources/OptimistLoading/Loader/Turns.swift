// This source file is part of the Optimist open source project, under the MIT licence.

/// Whose turn it is to tell a subscriber something. Knows nothing of values, so that making and ending one is cheap.
///
/// Threads come here in another order than the decisions were made in. An earlier decision is delivered nevertheless,
/// unless a later one stands for it too: a value is not lost for a progress that came first.
@usableFromInline
struct Turns: Sendable {
    /// The news that wait for another thread's turn.
    @usableFromInline
    struct Untold: Sendable {
        let kind: LoadEventKind
        let version: Int
        @usableFromInline let tell: @Sendable () -> Void

        func isOvertaken(by kind: LoadEventKind, _ version: Int) -> Bool {
            kind.overtakes(self.kind) && self.version < version
        }
    }

    /// As they were decided, at most one of each kind.
    private var waiting: [Untold] = []
    private var isTelling = false
    private var isClosed = false
    /// By kind: news without a later version than this are no longer delivered.
    private var overtaken = SIMD4<Int>.zero

    @usableFromInline init() {}

    /// Takes the turn, unless another thread has it: then the news wait.
    ///
    /// - Parameter version: A later decision has a higher one.
    /// - Returns: Whether it is the caller's turn, until ``next()`` has returned nil; and the news that are no longer
    ///   delivered.
    @usableFromInline
    mutating func take(
        _ kind: LoadEventKind, _ version: Int, orWait tell: () -> @Sendable () -> Void
    ) -> (isMine: Bool, overtaken: [Untold]) {
        guard !isClosed, version > overtaken[kind.rawValue] else { return (false, []) }
        for former in LoadEventKind.allCases where kind.overtakes(former) {
            overtaken[former.rawValue] = max(overtaken[former.rawValue], version)
        }
        if isTelling {
            let former = waiting
            waiting = former.filter { !$0.isOvertaken(by: kind, version) }
            let place = waiting.firstIndex { $0.version > version } ?? waiting.endIndex
            waiting.insert(Untold(kind: kind, version: version, tell: tell()), at: place)
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
enum LoadEventKind: Int, CaseIterable, Sendable {
    case progress, partial, value, failure

    /// Whether an earlier event is no longer delivered because of this one.
    func overtakes(_ former: Self) -> Bool {
        switch (self, former) {
        case (.value, _), (.progress, .progress), (.partial, .progress), (.partial, .partial): true
        case (.failure, .progress), (.failure, .failure): true
        default: false
        }
    }
}
