// This source file is part of the Optimist open source project, under the MIT licence.

import Foundation
import OptimistSession
import Synchronization

/// The state of the screen of short videos.
final class ShortsBoard: Sendable {
    private struct State {
        var snapshot = ShortsSnapshot()
        var row: String?
        var shows = 0
        var isOpening = false
    }

    private let state = Mutex(State())
    private let news: NewsDesk

    init(news: NewsDesk) { self.news = news }

    var snapshot: ShortsSnapshot { state.withLock { $0.snapshot } }

    /// Returns whether the caller should load the list, because it is missing and no other call is loading it.
    func beginsOpening() -> Bool {
        state.withLock { state in
            if state.isOpening || !state.snapshot.items.isEmpty { return false }
            state.isOpening = true
            return true
        }
    }

    func fill(with shorts: [Short]) {
        state.withLock { state in
            state.isOpening = false
            state.snapshot.problem = nil
            state.snapshot.items = shorts.map(ShortsSnapshot.Item.init)
        }
        news.changed(.shorts)
    }

    func fail(_ problem: String) {
        state.withLock { state in
            state.isOpening = false
            state.snapshot.problem = problem
        }
        news.changed(.shorts)
    }

    func put(_ index: Int) {
        let (row, title) = state.withLock { state in
            state.snapshot.index = index
            state.shows += 1
            state.row = "\(news.device)/short/\(state.shows)"
            return (state.row, state.snapshot.items[index].title)
        }
        news.tell(.short, title, row: row)
        news.changed(.shorts)
    }

    func state(of thing: ShortThing) -> ShortsSnapshot.Part.State { state.withLock { $0.snapshot[thing].state } }

    func prefetches(_ thing: ShortThing) {
        change(thing) { part in if part.state != .here { part.state = .prefetching } }
    }

    func needs(_ thing: ShortThing, _ way: ShortsSnapshot.Part.Way) {
        change(thing) { part in
            part.way = way
            if part.state != .here { part.state = .loading }
        }
        tell(way == .memory ? .atOnce : way == .joined ? .joined : .asked, thing)
    }

    func has(_ thing: ShortThing, _ text: String) {
        let isNew = state(of: thing) != .here
        change(thing) { part in
            part.state = .here
            part.text = text
        }
        if isNew { tell(.loaded, thing) }
    }

    func credits(_ source: String?) {
        guard let source else { return }
        state.withLock { $0.snapshot.credit = source }
    }

    func lost(_ thing: ShortThing) {
        change(thing) { $0.state = .failed }
        tell(.failed, thing)
    }

    func leaves(_ thing: ShortThing) {
        change(thing) { part in
            part.way = nil
            if part.state == .prefetching || part.state == .loading { part.state = .cancelled }
        }
    }

    private func change(_ thing: ShortThing, _ change: (inout ShortsSnapshot.Part) -> Void) {
        let hasChanged = state.withLock { state in
            let former = state.snapshot[thing]
            change(&state.snapshot[thing])
            return former != state.snapshot[thing]
        }
        if hasChanged { news.changed(.shorts, .loading) }
    }

    private func tell(_ kind: TimelineEvent.Kind, _ thing: ShortThing) {
        guard let row = state.withLock({ $0.snapshot.index == thing.index ? $0.row : nil }) else { return }
        news.tell(kind, thing.word, row: row)
    }
}

extension ShortsSnapshot {
    fileprivate subscript(thing: ShortThing) -> Part {
        get {
            switch thing {
            case .portrait(let index): items[index].portrait
            case .place(let index): items[index].place
            }
        }
        set {
            switch thing {
            case .portrait(let index): items[index].portrait = newValue
            case .place(let index): items[index].place = newValue
            }
        }
    }
}
