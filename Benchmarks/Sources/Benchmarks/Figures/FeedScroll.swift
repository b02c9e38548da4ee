// This source file is part of the Optimist open source project, under the MIT licence.

import Foundation
import OptimistLoading

/// Scrolling through a feed of ten thousand photos.
struct FeedScroll: Benchmark {
    static let name = "feed-scroll"
    let effort: Effort

    struct Photo: Identifiable, Equatable, Sendable {
        let id: Int
        var url: String { "https://example.org/pictures/\(id).jpg" }
    }

    private typealias PhotoFeed<Value: Sendable> = Feed<Int, NoFilter, Photo, Value>

    private static let (screen, pageSize, pictureBytes) = (12, 8, 20_000)

    func run(in folder: ScratchFolder, _ report: (Figure) -> Void) async throws {
        let count = effort.rows(10_000)
        let loader = Loader<String, Int> { _ in Fetched(0) }
        for id in 0..<count { loader.store(id, for: Photo(id: id).url) }
        let feed = try await feed(of: count, loader)
        try await steps(in: feed, count, report)
        try await pages(of: count, loader, report)
        try await memory(count, report)
    }

    private func steps(in feed: PhotoFeed<Int>, _ count: Int, _ report: (Figure) -> Void) async throws {
        let snapshots = feed.snapshots()
        _ = await snapshots.first { _ in true }
        var (steps, pictures): ([Double], [Double]) = ([], [])
        for first in 0..<min(effort.rounds(5_000), count - Self.screen) {
            steps.append(await Gauge.wall.seconds { feed.setVisible(first..<first + Self.screen) })
            pictures.append(
                await Gauge.wall.seconds {
                    let snapshot = await snapshots.first { _ in true }
                    precondition(snapshot?.phase(of: first).value == first, "a picture in memory is there at once")
                })
        }
        report(Figure("scrolling a feed of 10,000 by one item", .time(Samples(steps)), target: Thresholds.feedStep))
        report(Figure("the snapshot of that", .time(Samples(pictures)), target: Thresholds.feedSnapshot))
    }

    /// Loading a page includes a snapshot of its insertions. The rival computes the difference of the lists.
    private func pages(of count: Int, _ loader: Loader<String, Int>, _ report: (Figure) -> Void) async throws {
        let rounds = effort.rounds(60)
        let feed = try await feed(of: count, loader, pages: rounds + 1)
        let snapshots = feed.snapshots()
        _ = await snapshots.first { _ in true }
        var former = feed.snapshot.sections[0].items.map(\.id)
        let page = {
            let seconds = await Gauge.wall.seconds {
                feed.loadMore(in: 0)
                _ = await snapshots.first { $0.changes.isStructural }
            }
            return [seconds]
        }
        let difference = {
            let items = feed.snapshot.sections[0].items.map(\.id)
            let seconds = await Gauge.wall.seconds {
                precondition(!items.difference(from: former).isEmpty || items == former)
            }
            former = items
            return [seconds]
        }
        let pair = try await Paired(rounds: rounds, subject: page, rival: difference)
        report(
            Figure(
                "a page at the end of 10,000 items", pair, rival: "the difference alone", target: Thresholds.feedPage))
    }

    private func memory(_ count: Int, _ report: (Figure) -> Void) async throws {
        guard let before = Memory.forgetPeak() else { return }
        let loader = Loader<String, [UInt8]>(
            limits: LoaderLimits(memory: MemoryLimits(costBytes: 8_000_000)), cost: \.count
        ) { _ in Fetched([UInt8](repeating: 1, count: Self.pictureBytes)) }
        let feed = try await feed(of: count, loader)
        let snapshots = feed.snapshots()
        for first in stride(from: 0, to: count - Self.screen, by: Self.screen) {
            let shown = first..<first + Self.screen
            feed.setVisible(shown)
            _ = await snapshots.first { snapshot in shown.allSatisfy { snapshot.phase(of: $0).value != nil } }
        }
        report(
            Figure(
                "memory of 10,000 items, with 8 MB of their 200 MB of pictures",
                .size(bytes: (Memory.peak ?? before) - before),
                target: Thresholds.feedMemory))
    }

    /// The first page has `count` items, followed by `pages` more pages.
    private func feed<Value>(
        of count: Int, _ loader: Loader<String, Value>, pages: Int = 0
    ) async throws -> PhotoFeed<Value> {
        let limits = FeedLimits(nextPage: 0, frame: .zero)
        let feed = PhotoFeed<Value>(sections: [0], limits: limits, values: loader, key: \.url) { request in
            let page = request.cursor.flatMap { Int($0) } ?? 0
            let first = page == 0 ? 0 : count + (page - 1) * Self.pageSize
            let size = page == 0 ? count : Self.pageSize
            return FeedPage((first..<first + size).map { Photo(id: $0) }, next: page < pages ? "\(page + 1)" : nil)
        }
        let snapshots = feed.snapshots()
        feed.refresh()
        _ = await snapshots.first { $0.sections[0].items.count == count }
        return feed
    }
}
