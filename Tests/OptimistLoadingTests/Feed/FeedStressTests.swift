// This source file is part of the Optimist open source project, under the MIT licence.

import Foundation
import TestForm
import Testing

@testable import OptimistCore
@testable import OptimistLoading

/// Many threads use a feed, and nothing is left over.
@Suite(.timeLimit(.minutes(20)))
struct FeedStressTests {
    @Test
    func `F3 F7 F8 whatever eight threads do, snapshots are consistent, and at the end no load or waiter is left`()
        async
    {
        let loader = Loader<String, Int>(limits: LoaderLimits(linger: .zero)) { fetch in
            if fetch.key.hasSuffix("3") { throw Broken() }
            await Task.yield()
            return Fetched(Int(fetch.key) ?? 0)
        }
        let feed = PhotoFeed(
            sections: [.chosen, .recommended], filter: "0", limits: FeedLimits(frame: .milliseconds(1)), values: loader,
            key: \.key
        ) { request in
            await Task.yield()
            let start = request.cursor.flatMap { Int($0) } ?? 0
            if start % 7 == 5 { throw Broken() }
            // Each filter has its own range of ids.
            let first = start + (Int(request.filter) ?? 0) * 1_000
            return FeedPage((first..<first + 8).map { Photo(id: $0) }, next: start < 400 ? "\(start + 5)" : nil)
        }
        let counted = Counted()
        let observers = (0..<2).map { _ in observe(feed, countingTornSnapshotsIn: counted) }
        let steps = TestForm.of(short: 300, full: 1_000, soak: 50_000)
        await withTaskGroup(of: Void.self) { group in
            for seed in 0..<8 as Range<UInt64> {
                group.addTask {
                    var random = SplitMix64(seed: seed)
                    for step in 0..<steps {
                        let first = Int.random(in: 0..<3_000, using: &random)
                        switch Int.random(in: 0..<20, using: &random) {
                        case 0: feed.refresh()
                        case 1: feed.setFilter("\(Int.random(in: 0..<3, using: &random))")
                        case 2: feed.retryAll()
                        case 3: feed.loadMore(in: .recommended)
                        case 4: feed.retry(first)
                        case 5: _ = feed.snapshot
                        default: feed.setVisible(first..<first + 12)
                        }
                        if step % 16 == 0 { await Task.yield() }
                    }
                }
            }
        }
        feed.setVisible([])
        while loader.inspect({ $0.machine.holders.count }) > 0 { await Task.yield() }
        while feed.inspect({ !$0.requests.isEmpty }) { await Task.yield() }
        #expect(feed.inspect { $0.wishes.isEmpty && $0.phases.isEmpty })
        #expect(counted.count == 0)
        for observer in observers {
            observer.cancel()
            await observer.value
        }
        while feed.state.withLock({ !$0.observers.isEmpty }) { await Task.yield() }
    }

    /// Follows a feed and counts the snapshots with a duplicate or foreign item.
    private func observe(_ feed: PhotoFeed, countingTornSnapshotsIn counted: Counted) -> Task<Void, Never> {
        Task {
            for await snapshot in feed.snapshots() {
                let ids = snapshot.sections.flatMap(\.items).map(\.id)
                let thousand = Int(snapshot.filter) ?? 0
                let isWhole = Set(ids).count == ids.count && ids.allSatisfy { $0 / 1_000 == thousand }
                if !isWhole { counted.add() }
            }
        }
    }
}

private final class Counted: Sendable {
    private let value = Mutex(0)
    var count: Int { value.withLock { $0 } }
    func add() { value.withLock { $0 += 1 } }
}
