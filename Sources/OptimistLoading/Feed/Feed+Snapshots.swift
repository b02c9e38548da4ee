// This source file is part of the Optimist open source project, under the MIT licence.

import Synchronization

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
    /// Whoever is slow misses what was between, and is given the newest, with all that has changed since the one before.
    /// Each call observes for itself. The stream ends when its task is cancelled, or the feed goes.
    public func snapshots() -> AsyncStream<Snapshot> {
        let observation = Observation(self)
        return AsyncStream { await observation.next() }
    }

    /// Hands the machine to a test.
    func inspect<Result: Sendable>(_ look: (Machine) -> Result) -> Result { state.withLock { look($0.machine) } }

    /// An observer's place in a feed, for as long as he holds it.
    private final class Observation: Sendable {
        private weak let feed: Feed?
        private let bell = Bell()
        private let id: Int

        init(_ feed: Feed) {
            self.feed = feed
            id = feed.state.withLock { [bell] in $0.add(bell) }
        }

        deinit { _ = feed?.state.withLock { [id] in $0.observers.removeValue(forKey: id) } }

        func next() async -> Snapshot? {
            while !Task.isCancelled, feed != nil {
                if let snapshot = take() { return snapshot }
                guard await bell.wait() else { return nil }
            }
            return nil
        }

        private func take() -> Snapshot? {
            guard let taken = feed?.state.withLock({ [id] in $0.take(id) }) else { return nil }
            let changes = FeedChanges(
                from: taken.former, to: taken.sections, updated: taken.news.updated, states: taken.news.sections)
            return Snapshot(
                filter: taken.filter, sections: taken.sections, changes: changes, phases: taken.phases)
        }
    }
}

extension Feed {
    /// The machine, and who is told.
    struct State: Sendable {
        /// What an observer has not been told yet.
        struct Observer: Sendable {
            let bell: Bell
            var seen: [FeedSection<Section, Item>] = []
            var news: Machine.News
        }

        struct Taken: Sendable {
            let filter: Filter
            let former: [FeedSection<Section, Item>]
            let sections: [FeedSection<Section, Item>]
            let news: Machine.News
            let phases: [Item.ID: FeedPhase<Value>]
        }

        enum Telling {
            case tell([Bell])
            case wake(after: Duration)
        }

        var machine: Machine
        var observers: [Int: Observer] = [:]
        private(set) var pacer: FramePacer
        private var lastID = 0
        /// How many events are being dealt with. Observers are told when there are none.
        private var depth = 0
        private var hasNews = false

        init(_ machine: Machine, _ pacer: FramePacer) {
            self.machine = machine
            self.pacer = pacer
        }

        mutating func add(_ bell: Bell) -> Int {
            lastID += 1
            var news = Machine.News()
            news.isEmpty = false
            news.sections = Set(machine.sections)
            observers[lastID] = Observer(bell: bell, news: news)
            return lastID
        }

        mutating func begin() { depth += 1 }

        /// - Returns: What is to be done to tell observers.
        mutating func end(at now: Duration) -> Telling? {
            depth -= 1
            note()
            guard depth == 0, hasNews else { return nil }
            switch pacer.changed(at: now) {
            case .tell: return .tell(ring())
            case .wake(let delay): return .wake(after: delay)
            case nil: return nil
            }
        }

        mutating func woke(at now: Duration) -> [Bell] {
            pacer.woke(at: now)
            return ring()
        }

        mutating func take(_ id: Int) -> Taken? {
            note()
            guard let observer = observers[id], !observer.news.isEmpty else { return nil }
            let sections = machine.shownSections()
            observers[id] = Observer(bell: observer.bell, seen: sections, news: Machine.News())
            var news = observer.news
            news.updated = news.updated.filter { machine.layout.place(of: $0) != nil }
            return Taken(
                filter: machine.filter, former: observer.seen, sections: sections, news: news, phases: machine.phases)
        }

        /// Notes for each observer what the machine has changed.
        private mutating func note() {
            let news = machine.takeNews()
            guard !news.isEmpty else { return }
            hasNews = true
            for id in observers.keys { observers[id]?.news.add(news) }
        }

        private mutating func ring() -> [Bell] {
            hasNews = false
            return observers.sorted { $0.key < $1.key }.map(\.value.bell)
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
