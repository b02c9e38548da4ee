// This source file is part of the Optimist open source project, under the MIT licence.

import OptimistCore

extension Feed {
    /// The feed as it is now. Its ``FeedSnapshot/changes`` are empty: what has changed is a
    /// matter between two snapshots.
    public var snapshot: Snapshot {
        let (filter, sections, phases) = state.withLock { state in
            (state.machine.filter, state.machine.shownSections(), state.machine.phases)
        }
        return Snapshot(filter: filter, sections: sections, changes: FeedChanges(), phases: phases)
    }

    /// The feed as it is now, and then whenever it has changed: at once, and then once in a frame at most (F3).
    ///
    /// An observer that is slow misses the snapshots between, and gets the newest, with all changes since the one
    /// before. Each call observes for itself. The stream ends when its task is cancelled, or the feed goes.
    public func snapshots() -> AsyncStream<Snapshot> {
        observe(by: dependencies.clock)
    }

    /// Hands the machine to a test.
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
    /// The machine, and who is told.
    struct State: Sendable {
        /// What an observer has not been told yet.
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
        /// How many events are being dealt with. Observers are told when there are none.
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

        /// - Returns: The observers to wake.
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

        /// Notes for each observer what the machine has changed.
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
