// This source file is part of the Optimist open source project, under the MIT licence.

import OptimistCore

extension Feed {
    /// The current state of the feed. Its ``FeedSnapshot/changes`` are empty, because it is not compared with another
    /// snapshot.
    public var snapshot: Snapshot {
        let (filter, sections, phases) = state.withLock { state in
            (state.machine.filter, state.machine.shownSections(), state.machine.phases)
        }
        return Snapshot(filter: filter, sections: sections, changes: FeedChanges(), phases: phases)
    }

    /// Returns the current snapshot, then a new one after each change, at most once per frame.
    ///
    /// A slow observer skips intermediate snapshots. Each snapshot has all changes since the observer's previous one.
    /// Each call creates an independent stream, which ends when its task is cancelled or the feed is released.
    public func snapshots() -> AsyncStream<Snapshot> {
        observe(by: dependencies.clock)
    }

    /// For tests.
    func inspect<Result: Sendable>(_ look: (Machine) -> Result) -> Result { state.withLock { look($0.machine) } }
}

extension Feed: Observed {
    func add(_ bell: Bell) -> Int { state.withLock { $0.add(bell) } }
    func removeObserver(_ number: Int) { _ = state.withLock { $0.observers.removeValue(forKey: number) } }

    func take(_ number: Int) -> Taking<Snapshot> {
        let now = elapsed()
        switch state.withLock({ $0.take(number, at: now) }) {
        case .none: return .none
        case .later(let delay): return .later(delay)
        case .snapshot(let taken):
            let changes = FeedChanges(
                from: taken.former, to: taken.sections, updated: taken.news.updated, states: taken.news.sections)
            return .snapshot(
                Snapshot(filter: taken.filter, sections: taken.sections, changes: changes, phases: taken.phases))
        }
    }
}

extension Feed {
    struct State: Sendable {
        struct Observer: Sendable {
            let bell: Bell
            var pacer: FramePacer
            var seen: [FeedSection<Section, Item>] = []
            var news = Machine.News()
        }

        struct Taken: Sendable {
            let filter: Filter
            let former: [FeedSection<Section, Item>]
            let sections: [FeedSection<Section, Item>]
            let news: Machine.News
            let phases: [Item.ID: FeedPhase<Value>]
        }

        var machine: Machine
        var observers: [Int: Observer] = [:]
        private let frame: Duration
        private var lastID = 0
        /// The number of events in progress. Observers are notified when it reaches zero.
        private var depth = 0
        private var hasNews = false

        init(_ machine: Machine, frame: Duration) {
            self.machine = machine
            self.frame = frame
        }

        mutating func add(_ bell: Bell) -> Int {
            lastID += 1
            var news = Machine.News()
            news.isEmpty = false
            news.sections = Set(machine.sections)
            observers[lastID] = Observer(bell: bell, pacer: FramePacer(interval: frame), news: news)
            return lastID
        }

        mutating func begin() { depth += 1 }

        mutating func end() -> [Bell] {
            depth -= 1
            note()
            guard depth == 0, hasNews else { return [] }
            hasNews = false
            return observers.sorted { $0.key < $1.key }.map(\.value.bell)
        }

        mutating func take(_ id: Int, at now: Duration) -> Taking<Taken> {
            note()
            guard var observer = observers[id], !observer.news.isEmpty else { return .none }
            if let delay = observer.pacer.take(at: now) { return .later(delay) }
            let (former, taken, sections) = (observer.seen, observer.news, machine.shownSections())
            (observer.seen, observer.news) = (sections, Machine.News())
            observers[id] = observer
            var news = taken
            news.updated = news.updated.filter { machine.layout.place(of: $0) != nil }
            return .snapshot(
                Taken(filter: machine.filter, former: former, sections: sections, news: news, phases: machine.phases))
        }

        private mutating func note() {
            let news = machine.takeNews()
            guard !news.isEmpty else { return }
            hasNews = true
            for id in observers.keys { observers[id]?.news.add(news) }
        }
    }
}

extension FeedMachine.News {
    mutating func add(_ other: Self) {
        updated.formUnion(other.updated)
        sections.formUnion(other.sections)
        isEmpty = isEmpty && other.isEmpty
    }
}
