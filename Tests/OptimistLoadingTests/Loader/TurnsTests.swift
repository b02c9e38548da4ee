// This source file is part of the Optimist open source project, under the MIT licence.

import Foundation
import OptimistTesting
import Testing

@testable import OptimistCore
@testable import OptimistLoading

@Suite(.timeLimit(.minutes(20)))
struct TurnsTests {
    @Test func `C8 at most six fetches run at once, and three of them off screen`() async throws {
        let desk = Desk()
        let ahead = (0..<5).map { Listener(desk.loader, "ahead \($0)", .prefetch) }
        #expect(await desk.source.begin(3).sorted() == ["ahead 0", "ahead 1", "ahead 2"])
        let shown = (0..<5).map { Listener(desk.loader, "shown \($0)") }
        #expect(await desk.source.begin(3).sorted() == ["shown 0", "shown 1", "shown 2"])
        desk.source.answer("ahead 0", 0)
        #expect(await desk.source.begin() == ["shown 3"], "a visible key comes before the next prefetch")
        desk.source.answer("shown 0", 0)
        #expect(await desk.source.begin() == ["shown 4"])
        desk.source.answer("shown 1", 0)
        #expect(await desk.source.begin() == ["ahead 3"])
        #expect(desk.source.begun.count == 9)
        withExtendedLifetime((ahead, shown)) {}
    }

    @Test func `C8 visible keys are fetched before soon and prefetched ones, and a ticket can change its priority`()
        async throws
    {
        let desk = Desk(LoaderLimits(fetches: 1, unseenFetches: 1))
        let first = Listener(desk.loader, "first")
        await desk.source.begin()
        let tickets = [
            Listener(desk.loader, "ahead", .prefetch), Listener(desk.loader, "soon", .soon),
            Listener(desk.loader, "shown", .visible), Listener(desk.loader, "raised", .prefetch),
        ]
        tickets[3].ticket.setPriority(.visible)
        tickets[2].ticket.setPriority(.soon)
        var last = "first"
        for expected in ["raised", "soon", "shown", "ahead"] {
            desk.source.answer(last, 0)
            #expect(await desk.source.begin() == [expected])
            last = expected
        }
        withExtendedLifetime(first) {}
        #expect(desk.loader.counts.waits[.visible]?.count == 2)
    }

    @Test func `C2 a view raises the priority of the prefetch that it joins, so another prefetch can start`()
        async throws
    {
        let desk = Desk()
        let ahead = (0..<4).map { Listener(desk.loader, "\($0)", .prefetch) }
        await desk.source.begin(3)
        let view = Listener(desk.loader, "0")
        #expect(await desk.source.begin() == ["3"])
        withExtendedLifetime((ahead, view)) {}
    }

    @Test func `a throttled source is asked no more often than its interval allows`() async throws {
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

    @Test func `keys in different lanes do not wait for each other`() async throws {
        let source = Source()
        let loader = Loader<String, Int>(
            limits: LoaderLimits(fetches: 1, unseenFetches: 1), group: { String($0.prefix(1)) }
        ) { try await source.fetch($0) }
        let listeners = ["a1", "a2", "b1", "b2"].map { Listener(loader, $0) }
        #expect(await source.begin(2).sorted() == ["a1", "b1"])
        source.answer("b1", 0)
        #expect(await source.begin() == ["b2"])
        withExtendedLifetime(listeners) {}
    }

    @Test func `an idle lane is reused for the next name`() async throws {
        let source = Source()
        let clock = ManualClock()
        let loader = Loader<String, Int>(
            limits: LoaderLimits(interval: .seconds(1)), group: { $0 }, dependencies: Dependencies(clock: clock)
        ) { try await source.fetch($0) }
        let busy = Listener(loader, "busy")
        await source.begin()
        for number in 0..<100 {
            let listener = Listener(loader, "\(number)")
            await source.begin()
            source.answer("\(number)", number)
            _ = await listener.next()
            clock.advance(by: .seconds(1))
        }
        let lanes = loader.inspect { $0.machine.lanes }
        #expect(lanes.count == 4, "the lanes are the disk's, the unnamed, the busy one, and one for all other names")
        #expect(lanes.map(\.flights) == [0, 0, 1, 0])
        let early = (0..<3).map { Listener(loader, "early \($0)") }
        await source.begin(3)
        for number in 0..<3 { source.answer("early \(number)", 0) }
        for listener in early { _ = await listener.next() }
        let next = Listener(loader, "next")
        await source.begin()
        #expect(loader.inspect { $0.machine.lanes.count } == 7, "the other lanes open only after a second")
        withExtendedLifetime((busy, next)) {}
    }

    @Test func `C8 a slow subscriber does not delay the next fetch`() async throws {
        let desk = Desk(LoaderLimits(fetches: 1, unseenFetches: 1))
        let gate = DispatchSemaphore(value: 0)
        let slow = desk.loader.subscribe("slow") { _ in gate.wait() }
        await desk.source.begin()
        let next = Listener(desk.loader, "next")
        // On a separate thread, because the task pool is small.
        let loader = desk.loader
        Thread.detachNewThread { loader.store(0, for: "slow") }
        #expect(await desk.source.begin() == ["next"])
        gate.signal()
        withExtendedLifetime((slow, next)) {}
    }

    @Test func `prefetched bytes are counted, and so are prefetched bytes that were never shown`() async throws {
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

    @Test func `raising a ticket's priority repeatedly does not deepen the stack`() {
        let depths = Mutex<[Int]>([])
        let ticket = LoadSubscription(HolderID(place: 0, serial: 0)) { _, _ in
            depths.withLock { $0.append(Thread.callStackReturnAddresses.count) }
        }
        for _ in 1...40 { ticket.setPriority(.visible) }
        #expect(Set(depths.withLock { $0 }).count == 1)
    }
}
