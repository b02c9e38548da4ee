// This source file is part of the Optimist open source project, under the MIT licence.

import Foundation
import OptimistCore
import OptimistLoading
import OptimistSession

/// The screen of short videos with Optimist's loaders. It prefetches the next videos, joins running prefetches, and
/// cancels fetches of videos that are no longer near.
actor ShortsScreen: ShortsShowing {
    static let ahead = 3

    nonisolated let board: ShortsBoard
    private let loaders: PhoneLoaders
    private let shelf: PictureShelf
    private var shorts: [Short] = []
    private var shown: [ShortThing: LoadSubscription] = [:]
    private var prefetched: [ShortThing: LoadSubscription] = [:]

    init(loaders: PhoneLoaders, shelf: PictureShelf, news: NewsDesk) {
        self.loaders = loaders
        self.shelf = shelf
        board = ShortsBoard(news: news)
    }

    func open(_ shorts: [Short]) {
        guard self.shorts.isEmpty else { return }
        self.shorts = shorts
        board.fill(with: shorts)
        show(0)
    }

    func show(_ index: Int) {
        guard shorts.indices.contains(index), index != board.snapshot.index else { return }
        let former = (shown, prefetched)
        let near = (index + 1...index + Self.ahead).filter(shorts.indices.contains)
        board.put(index)
        shown = [:]
        for thing in ShortThing.all(of: index) {
            let isOnItsWay = former.1[thing] != nil && board.state(of: thing) == .prefetching
            board.needs(thing, isHere(thing) ? .memory : isOnItsWay ? .joined : .asked)
            shown[thing] = subscribe(thing, .visible)
        }
        prefetched = [:]
        for thing in near.flatMap(ShortThing.all) {
            // A failed prefetch must be started again.
            let isOver = board.state(of: thing) == .failed
            board.prefetches(thing)
            prefetched[thing] = (isOver ? nil : former.1[thing]) ?? subscribe(thing, .prefetch)
        }
        // Former subscriptions end last, so that a value that is still needed always has a subscription.
        for thing in Set(former.0.keys).union(former.1.keys) where shown[thing] == nil && prefetched[thing] == nil {
            board.leaves(thing)
        }
        withExtendedLifetime(former) {}
    }

    func retry() {
        for thing in Array(shown.keys) + Array(prefetched.keys) where board.state(of: thing) == .failed {
            if shown[thing] != nil {
                board.needs(thing, .asked)
                shown[thing] = subscribe(thing, .visible)
            } else {
                board.prefetches(thing)
                prefetched[thing] = subscribe(thing, .prefetch)
            }
        }
    }

    func close() {
        (shown, prefetched) = ([:], [:])
    }

    private func isHere(_ thing: ShortThing) -> Bool {
        let short = shorts[thing.index]
        return switch thing {
        case .portrait: loaders.pictures.cached(short.portraitPath) != nil
        case .place: short.placeKey.flatMap(loaders.places.cached) != nil
        }
    }

    private func subscribe(_ thing: ShortThing, _ priority: LoadPriority) -> LoadSubscription? {
        let short = shorts[thing.index]
        switch thing {
        case .portrait:
            return loaders.pictures.subscribe(short.portraitPath, priority: priority) { [board, shelf] event in
                switch event {
                case .value(let picture, _):
                    shelf[short.portraitPath] = picture
                    board.has(thing, short.portraitPath)
                case .failure: board.lost(thing)
                case .progress, .partial: break
                }
            }
        case .place:
            guard let key = short.placeKey else { return nil }
            return loaders.places.subscribe(key, priority: priority) { [board] event in
                switch event {
                case .value(let place, _):
                    board.credits(place.attribution)
                    board.has(thing, place.label)
                case .failure: board.lost(thing)
                case .progress, .partial: break
                }
            }
        }
    }
}
