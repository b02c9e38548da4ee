// This source file is part of the Optimist open source project, under the MIT licence.

import OptimistTesting
import Testing

@testable import OptimistLoading

/// If requests leave together, none of the queued ones among them starts.
@Suite(.timeLimit(.minutes(20)))
struct LeavingTogetherTests {
    private func keys(_ range: Range<Int>) -> [String] { range.map { "\($0)" } }

    @Test(arguments: [true, false])
    func `F8 releasing a window of twenty starts none of its queued fetches`(isKept: Bool) async throws {
        let desk = Desk()
        var window: PrefetchWindow? = PrefetchWindow(desk.loader)
        window?.setVisible(keys(0..<20))
        if isKept { window?.setVisible([]) } else { window = nil }
        #expect(desk.loader.counts.fetches == 3)
        #expect(desk.loader.counts.dropped == 17)
    }

    @Test func `F8 a fling through a hundred windows starts three fetches for each`() async throws {
        let desk = Desk()
        let window = PrefetchWindow(desk.loader)
        for number in 0..<100 { window.setVisible(keys(number * 20..<(number + 1) * 20)) }
        window.setVisible([])
        #expect(desk.loader.counts.fetches == 300)
    }

    @Test(arguments: ["show", "filter", "removeAll", "gone"])
    func `F8 items that leave a feed together start none of their queued fetches`(how: String) async throws {
        let desk = Desk()
        var wall: Wall? = Wall(limits: FeedLimits(ahead: 16, behind: 4), desk: desk)
        wall?.feed.refresh()
        await wall?.pages.request()
        wall?.pages.answer(0..<100)
        await wall?.until { $0.ids.count == 100 }
        wall?.feed.setVisible(40..<52)
        let begun = desk.loader.counts.fetches
        switch how {
        case "show": wall?.feed.setVisible([])
        case "filter": wall?.feed.setFilter("others")
        case "removeAll": await wall?.feed.removeAll()
        default: wall = nil
        }
        #expect(desk.loader.counts.fetches == begun)
    }

    @Test func `F8 a feed that jumps starts only what is on the new screen`() async throws {
        let desk = Desk()
        let wall = Wall(limits: FeedLimits(ahead: 16, behind: 4), desk: desk)
        wall.feed.refresh()
        await wall.pages.request()
        wall.pages.answer(0..<200)
        await wall.until { $0.ids.count == 200 }
        wall.feed.setVisible(0..<6)
        await desk.source.begin(6)
        wall.feed.setVisible(100..<106)
        #expect(Set(await desk.source.begin(6)) == Set((100..<106).map { "\($0)" }))
        #expect(desk.loader.counts.fetches == 12)
    }

    @Test(arguments: ["cancel", "reload", "gone"])
    func `F8 if a collection view cancels prefetches together, none of the queued ones starts`(how: String) async throws
    {
        let desk = Desk()
        var keys: AnnouncedKeys<Int, String, Int>? = AnnouncedKeys(desk.loader, limit: 32)
        keys?.announce((0..<20).map { (path: $0, key: "\($0)") })
        switch how {
        case "cancel": keys?.cancel(Array(0..<20))
        case "reload": keys?.removeAll()
        default: keys = nil
        }
        #expect(desk.loader.counts.fetches == 3)
        #expect(desk.loader.counts.dropped == 17)
    }

    @Test func `F8 releasing many tickets in a batch starts none of their queued fetches`() async throws {
        let desk = Desk()
        var cells = (0..<20).map { Listener(desk.loader, "\($0)") }
        desk.loader.batch { desk.loader.batch { cells = [] } }
        #expect(desk.loader.counts.fetches == 6)
        #expect(desk.loader.counts.dropped == 14)
        #expect(cells.isEmpty)
    }

    @Test func `in a batch, values in memory arrive immediately, and the most urgent fetch starts first`() async throws
    {
        let desk = Desk(LoaderLimits(fetches: 1, unseenFetches: 1))
        desk.loader.store(7, for: "here")
        let listeners = desk.loader.batch {
            let listeners = [
                Listener(desk.loader, "ahead", .prefetch), Listener(desk.loader, "seen"), Listener(desk.loader, "here"),
            ]
            #expect(desk.loader.counts.fetches == 0)
            #expect(desk.loader.counts.memoryHits == 1)
            return listeners
        }
        #expect(await desk.source.begin() == ["seen"])
        withExtendedLifetime(listeners) {}
    }
}
