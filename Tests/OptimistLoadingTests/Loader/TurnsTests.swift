// This source file is part of the Optimist open source project, under the MIT licence.

import OptimistCore
import OptimistTesting
import Testing

@testable import OptimistLoading

@Suite(.timeLimit(.minutes(5)))
struct TurnsTests {
    @Test func `C8 six fetches at once, and three at most for what nobody looks at`() async throws {
        let desk = Desk()
        let ahead = (0..<5).map { Listener(desk.loader, "ahead \($0)", .prefetch) }
        #expect(await desk.source.begin(3).sorted() == ["ahead 0", "ahead 1", "ahead 2"])
        let shown = (0..<5).map { Listener(desk.loader, "shown \($0)") }
        #expect(await desk.source.begin(3).sorted() == ["shown 0", "shown 1", "shown 2"])
        desk.source.answer("ahead 0", 0)
        #expect(await desk.source.begin() == ["shown 3"], "what is looked at comes before the next ahead")
        desk.source.answer("shown 0", 0)
        #expect(await desk.source.begin() == ["shown 4"])
        desk.source.answer("shown 1", 0)
        #expect(await desk.source.begin() == ["ahead 3"])
        #expect(desk.source.begun.count == 9)
        withExtendedLifetime((ahead, shown)) {}
    }

    @Test func `C8 on screen before soon on screen before prefetch, and a ticket may change that`() async throws {
        let desk = Desk(LoaderLimits(fetches: 1, unseenFetches: 1))
        let first = Listener(desk.loader, "first")
        await desk.source.begin()
        let tickets = [
            Listener(desk.loader, "ahead", .prefetch), Listener(desk.loader, "soon", .soon),
            Listener(desk.loader, "shown", .visible), Listener(desk.loader, "raised", .prefetch),
        ]
        tickets[3].ticket.need(.visible)
        tickets[2].ticket.need(.soon)
        var last = "first"
        for expected in ["raised", "soon", "shown", "ahead"] {
            desk.source.answer(last, 0)
            #expect(await desk.source.begin() == [expected])
            last = expected
        }
        withExtendedLifetime(first) {}
        #expect(desk.loader.counts.waits[.visible]?.count == 2)
    }

    @Test func `C2 a view that needs what is being prefetched lifts it, which makes room for another prefetch`()
        async throws
    {
        let desk = Desk()
        let ahead = (0..<4).map { Listener(desk.loader, "\($0)", .prefetch) }
        await desk.source.begin(3)
        let view = Listener(desk.loader, "0")
        #expect(await desk.source.begin() == ["3"])
        withExtendedLifetime((ahead, view)) {}
    }

    @Test func `a source that throttles is asked no more often than it may be`() async throws {
        let desk = Desk(LoaderLimits(interval: .seconds(1)))
        let listeners = (0..<3).map { Listener(desk.loader, "\($0)") }
        #expect(await desk.source.begin() == ["0"])
        for expected in ["1", "2"] {
            await desk.clock.sleepers(atLeast: 1)
            desk.clock.advance(by: .milliseconds(999))
            #expect(!desk.source.begun.contains(expected))
            desk.clock.advance(by: .milliseconds(1))
            #expect(await desk.source.begin() == [expected])
        }
        withExtendedLifetime(listeners) {}
    }

    @Test func `keys of different lanes do not wait for each other`() async throws {
        let source = Source()
        let loader = Loader<String, Int>(
            limits: LoaderLimits(fetches: 1, unseenFetches: 1), lane: { String($0.prefix(1)) }
        ) { try await source.fetch($0) }
        let listeners = ["a1", "a2", "b1", "b2"].map { Listener(loader, $0) }
        #expect(await source.begin(2).sorted() == ["a1", "b1"])
        source.answer("b1", 0)
        #expect(await source.begin() == ["b2"])
        withExtendedLifetime(listeners) {}
    }

    @Test func `what is fetched ahead is counted, and what of that nobody looked at`() async throws {
        let desk = Desk(LoaderLimits(memory: MemoryLimits(costBytes: 4)))
        for key in ["seen", "unseen"] {
            let ahead = Listener(desk.loader, key, .prefetch)
            await desk.source.begin()
            desk.source.answer(key, 1)
            _ = await ahead.next()
        }
        let shown = Listener(desk.loader, "shown")
        await desk.source.begin()
        desk.source.answer("shown", 1)
        _ = await shown.next()
        #expect(desk.loader.counts.prefetchedBytes == 2)
        #expect(desk.loader.cached("seen") == 1)
        desk.loader.trim(to: 0)
        #expect(desk.loader.counts.unseenBytes == 1)
    }
}
