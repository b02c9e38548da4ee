// This source file is part of the Optimist open source project, under the MIT licence.

/// Whose turn it is to tell a subscriber something. Knows nothing of values, so that making and ending one is cheap.
///
/// Threads come here in another order than things were decided in. What was decided earlier is told nevertheless,
/// unless something that was decided later stands for it too: a value is not lost for a progress that came first.
@usableFromInline
struct Turns: Sendable {
    /// What somebody else's turn keeps waiting.
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
    /// By kind: what has no later version than this need not be told any more.
    private var overtaken = SIMD4<Int>.zero

    @usableFromInline init() {}

    /// Takes the turn, unless somebody has it: then the news wait.
    ///
    /// - Parameter version: What was decided later has a higher one.
    /// - Returns: Whether it is the caller's turn, until ``next()`` has returned nil; and what need not be told any
    ///   more.
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

    /// Whether nobody need be told something any more, since this was decided later.
    func overtakes(_ former: Self) -> Bool {
        switch (self, former) {
        case (.value, _), (.progress, .progress), (.partial, .progress), (.partial, .partial): true
        case (.failure, .progress), (.failure, .failure): true
        default: false
        }
    }
}
