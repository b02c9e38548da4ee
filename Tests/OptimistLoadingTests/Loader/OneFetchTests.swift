// This source file is part of the Optimist open source project, under the MIT licence.

import Dispatch
import Foundation
import OptimistLoading
import OptimistTesting
import Testing

@testable import OptimistLoading

@Suite(.timeLimit(.minutes(20)))
struct OneFetchTests {
    @Test func `C1 a value in memory is returned at once, without suspension`() async throws {
        let desk = Desk()
        desk.loader.store(7, for: "a")
        #expect(desk.loader.cached("a") == 7)
        #expect(try await desk.loader.value(for: "a") == 7)
        var told: [String] = []
        let (events, teller) = AsyncStream<String>.makeStream()
        let ticket = desk.loader.subscribe("a") { teller.yield("\($0)") }
        teller.finish()
        for await event in events { told.append(event) }
        #expect(told.count == 1, "the event arrived before subscribing returned")
        ticket.cancel()
        #expect(desk.source.begun.isEmpty)
        #expect(desk.loader.counts.memoryHits == 3)
    }

    @Test func `C2 requests for a key that is being fetched join that fetch`() async throws {
        let desk = Desk()
        let listeners = (0..<10).map { _ in Listener(desk.loader, "a") }
        async let value = desk.loader.value(for: "a")
        #expect(await desk.source.begin() == ["a"])
        desk.source.answer("a", 7)
        for listener in listeners { #expect(await listener.next() == "7 from source") }
        #expect(try await value == 7)
        #expect(desk.source.begun == ["a"])
        #expect(desk.loader.cached("a") == 7)
    }

    /// A cell appears while its value is still being prefetched.
    @Test(arguments: [true, false])
    func
        `C2 C3 a cell that appears during a prefetch uses that fetch, even if the prefetch is cancelled`(
            isCancelled: Bool
        ) async throws
    {
        let desk = Desk()
        let window = PrefetchWindow(desk.loader)
        window.setVisible(["picture", "place"])
        await desk.source.begin(2)
        let cells = ["picture", "place"].map { Listener(desk.loader, $0) }
        if isCancelled { window.setVisible([]) }
        desk.source.answer("picture", 1)
        desk.source.answer("place", 2)
        #expect(await cells[0].next() == "1 from source")
        #expect(await cells[1].next() == "2 from source")
        #expect(desk.source.begun.sorted() == ["picture", "place"])
        #expect(desk.source.cancelled.isEmpty)
        #expect(desk.loader.counts.joins == 2)
    }

    @Test func `C3 a fetch stops shortly after its last holder has left`() async throws {
        let desk = Desk()
        let listeners = [Listener(desk.loader, "a"), Listener(desk.loader, "a")]
        await desk.source.begin()
        listeners[0].ticket.cancel()
        #expect(desk.source.cancelled.isEmpty)
        listeners[1].ticket.cancel()
        #expect(desk.source.cancelled.isEmpty, "a holder may return")
        await desk.pass(.milliseconds(100))
        #expect(await desk.source.cancellation() == "a")
        #expect(desk.loader.counts.cancelled == 1)
    }

    @Test func `C3 if the fetch has not stopped, a returning holder joins it`() async throws {
        let desk = Desk()
        let first = Listener(desk.loader, "a")
        await desk.source.begin()
        first.ticket.cancel()
        let second = Listener(desk.loader, "a")
        await desk.pass(.milliseconds(100))
        desk.source.answer("a", 7)
        #expect(await second.next() == "7 from source")
        #expect(desk.source.begun == ["a"])
    }

    @Test func `C3 a queued fetch without holders is dropped, and a lingering one gives way to others`() async throws {
        let desk = Desk(LoaderLimits(fetches: 1, unseenFetches: 1))
        let first = Listener(desk.loader, "a")
        await desk.source.begin()
        let second = Listener(desk.loader, "b")
        second.ticket.cancel()
        #expect(desk.loader.counts.dropped == 1)
        let third = Listener(desk.loader, "c")
        first.ticket.cancel()
        #expect(await desk.source.cancellation() == "a")
        #expect(await desk.source.begin() == ["c"])
        desk.source.answer("c", 3)
        #expect(await third.next() == "3 from source")
        #expect(desk.source.begun == ["a", "c"])
    }

    @Test func `C3 a cancelled task returns immediately, and other holders get the value`() async throws {
        let desk = Desk()
        let loader = desk.loader
        let waiting = Task { try await loader.value(for: "a") }
        await desk.source.begin()
        let other = Listener(loader, "a")
        waiting.cancel()
        await #expect(throws: CancellationError.self) { try await waiting.value }
        desk.source.answer("a", 7)
        #expect(await other.next() == "7 from source")
    }

    @Test func `C3 releasing a ticket cancels it`() async throws {
        let desk = Desk(LoaderLimits(linger: .zero))
        do {
            let listener = Listener(desk.loader, "a")
            await desk.source.begin()
            _ = listener.ticket
        }
        #expect(await desk.source.cancellation() == "a")
    }

    @Test func `C4 a failure reaches every caller unchanged and is not remembered`() async throws {
        let desk = Desk()
        let listeners = [Listener(desk.loader, "a"), Listener(desk.loader, "a")]
        await desk.source.begin()
        desk.source.answer("a", .failure(Broken()))
        for listener in listeners { #expect(await listener.next() == "broken") }
        async let value = desk.loader.value(for: "a")
        await desk.source.begin()
        desk.source.answer("a", 7)
        #expect(try await value == 7)
    }

    @Test func `C4 if the app asks for it, an error is returned to later callers for a while`() async throws {
        let desk = Desk(pause: .seconds(60))
        let listener = Listener(desk.loader, "a")
        await desk.source.begin()
        desk.source.answer("a", .failure(Broken()))
        #expect(await listener.next() == "broken")
        await #expect(throws: Broken.self) { try await desk.loader.value(for: "a") }
        #expect(desk.source.begun == ["a"])
        desk.clock.advance(by: .seconds(60))
        async let value = desk.loader.value(for: "a")
        await desk.source.begin()
        desk.source.answer("a", 7)
        #expect(try await value == 7)
    }

    @Test func `C4 during the pause after a failure a fresh request fetches, and later requests join it`()
        async throws
    {
        let desk = Desk(pause: .seconds(60))
        let listener = Listener(desk.loader, "a")
        await desk.source.begin()
        desk.source.answer("a", .failure(Broken()))
        #expect(await listener.next() == "broken")
        let fresh = Listener(desk.loader, "a", .visible, .fresh)
        #expect(await desk.source.begin() == ["a"])
        let other = Listener(desk.loader, "a")
        desk.source.answer("a", 7)
        for listener in [fresh, other] { #expect(await listener.next() == "7 from source") }
    }

    @Test func `C4 a fresh request that fails during the pause restarts it`() async throws {
        let desk = Desk(pause: .seconds(60))
        for second in [0, 40] {
            desk.clock.advance(by: .seconds(second))
            let fresh = Listener(desk.loader, "a", .visible, .fresh)
            await desk.source.begin()
            desk.source.answer("a", .failure(Broken()))
            #expect(await fresh.next() == "broken")
        }
        desk.clock.advance(by: .seconds(40))
        await #expect(throws: Broken.self) { try await desk.loader.value(for: "a") }
        #expect(desk.source.begun == ["a", "a"])
    }

    @Test func `a late holder with an expired value gets progress but no partial value`() async throws {
        let desk = Desk()
        desk.loader.store(1, for: "a", validity: Validity(expiresAt: .distantPast))
        let early = Listener(desk.loader, "a")
        await desk.source.begin()
        desk.source.show("a", 3)
        desk.source.report("a", 0.5)
        let late = Listener(desk.loader, "a", .visible, .cachedThenRefreshed)
        #expect(await late.next() == "1 from memory")
        #expect(await late.next() == "progress 0.5")
        withExtendedLifetime(early) {}
    }

    @Test func `a late holder gets the latest progress and the latest partial value`() async throws {
        let desk = Desk()
        let early = Listener(desk.loader, "a")
        await desk.source.begin()
        desk.source.report("a", 0.25)
        #expect(await early.next() == "progress 0.25")
        let late = Listener(desk.loader, "a")
        #expect(await late.next() == "progress 0.25")
        desk.source.show("a", 3)
        for listener in [early, late] { #expect(await listener.next() == "partial 3") }
        let latest = Listener(desk.loader, "a")
        #expect(await latest.next() == "partial 3")
        #expect(await latest.next() == "progress 0.25")
        desk.source.answer("a", 7)
        for listener in [early, late, latest] { #expect(await listener.next() == "7 from source") }
    }

    @Test func `a slow subscriber gets the newest event of each kind, and none older than a value`() async throws {
        let desk = Desk()
        let gate = DispatchSemaphore(value: 0)
        let (events, told) = AsyncStream<String>.makeStream()
        let ticket = desk.loader.subscribe("a", freshness: .cachedThenRefreshed) { event in
            told.yield("\(event)")
            gate.wait()
        }
        await desk.source.begin()
        let begin = Task.detached { desk.source.report("a", 0.1) }
        var heard = events.makeAsyncIterator()
        #expect(await heard.next() == "progress(0.1)")
        for step in 2...5 {
            desk.source.report("a", Double(step) / 10)
            desk.source.show("a", step)
        }
        desk.source.report("a", 0.6)
        for _ in 0..<2 { gate.signal() }
        #expect(await heard.next() == "partial(5)")
        #expect(await heard.next() == "progress(0.6)")
        desk.source.report("a", 0.7)
        desk.loader.store(7, for: "a")
        for _ in 0..<2 { gate.signal() }
        #expect(await heard.next() == "value(7, OptimistLoading.LoadOrigin.memory)")
        await begin.value
        ticket.cancel()
    }
}
