// This source file is part of the Optimist open source project, under the MIT licence.

import Foundation
import HTTPTypes
import OptimistLoading
import OptimistSession

/// The short videos of the app in the fifth story. A cell requests its values even if they are being prefetched, and a
/// failed prefetch blocks its key.
actor OldShorts: ShortsShowing {
    nonisolated let board: ShortsBoard
    private let session: Session
    private let shelf: PictureShelf
    private var shorts: [Short] = []
    private var here: [String: String] = [:]
    /// Never cleared, even after a failure.
    private var prefetching: Set<String> = []
    private var work: [Int: Task<Void, Never>] = [:]
    private var last = 0

    init(session: Session, shelf: PictureShelf, news: NewsDesk) {
        self.session = session
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
        board.put(index)
        for thing in ShortThing.all(of: index) {
            guard let path = path(of: thing) else { continue }
            board.needs(thing, here[path] == nil ? .asked : .memory)
            if let text = here[path] { board.has(thing, text) } else { load(thing, path) }
        }
        for next in index + 1...index + ShortsScreen.ahead where shorts.indices.contains(next) {
            for thing in ShortThing.all(of: next) {
                guard let path = path(of: thing), here[path] == nil, prefetching.insert(path).inserted else { continue }
                board.prefetches(thing)
                load(thing, path)
            }
        }
    }

    func retry() {
        guard let index = board.snapshot.index else { return }
        for thing in ShortThing.all(of: index) where board.state(of: thing) == .failed {
            if let path = path(of: thing) { load(thing, path) }
        }
    }

    func close() {
        for task in work.values { task.cancel() }
    }

    private func path(of thing: ShortThing) -> String? {
        switch thing {
        case .portrait(let index): shorts[index].portraitPath
        case .place(let index): shorts[index].placePath
        }
    }

    private func load(_ thing: ShortThing, _ path: String) {
        last += 1
        // Unstructured, as in the original app.
        work[last] = Task { [last] in
            do {
                let answer = try await session.send(SessionRequest(path, deadline: HeldPictures.patience))
                here[path] = try text(of: thing, path, answer.status.code, answer.body)
                if let text = here[path] { board.has(thing, text) }
            } catch {
                board.lost(thing)
            }
            work[last] = nil
        }
    }

    private func text(of thing: ShortThing, _ path: String, _ status: Int, _ body: [UInt8]) throws -> String? {
        switch thing {
        case .portrait:
            guard status == 200 else { return nil }
            shelf[path] = try Picture(decoding: body)
            return path
        case .place where status == 200:
            let place = Place.named(try JSONDecoder().decode(PlaceName.self, from: Data(body)))
            board.credits(place.attribution)
            return place.label
        case .place: return status == 204 ? Place.nowhere.label : nil
        }
    }
}
