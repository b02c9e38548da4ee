// This source file is part of the Optimist open source project, under the MIT licence.

/// Decides which thread delivers an event to a subscriber next. Independent of the value type, so that it is cheap to
/// create and release.
///
/// Threads may arrive here in a different order than their decisions were made. An earlier decision is still delivered,
/// unless a later one supersedes it: a value is not lost because a progress event arrived first.
@usableFromInline
struct Turns: Sendable {
    @usableFromInline
    struct Untold: Sendable {
        let kind: LoadEventKind
        let version: Int
        @usableFromInline let tell: @Sendable () -> Void

        func isOvertaken(by kind: LoadEventKind, _ version: Int) -> Bool {
            kind.overtakes(self.kind) && self.version < version
        }
    }

    /// In the order of their versions, at most one of each kind.
    private var waiting: [Untold] = []
    private var isTelling = false
    private var isClosed = false
    /// For each kind, the version up to which events are superseded.
    private var overtaken = SIMD4<Int>.zero

    @usableFromInline init() {}

    /// Takes the turn. If another thread has it, the event waits.
    ///
    /// - Parameter version: Later decisions have higher versions.
    /// - Returns: Whether the caller has the turn, which lasts until ``next()`` returns nil. Also the former waiting
    ///   events, which the caller must release without the lock.
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

    func overtakes(_ former: Self) -> Bool {
        switch (self, former) {
        case (.value, _), (.progress, .progress), (.partial, .progress), (.partial, .partial): true
        case (.failure, .progress), (.failure, .failure): true
        default: false
        }
    }
}
