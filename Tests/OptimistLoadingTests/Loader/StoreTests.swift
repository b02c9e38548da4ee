// This source file is part of the Optimist open source project, under the MIT licence.

import Foundation
import OptimistTesting
import Testing

@testable import OptimistLoading

/// Values that an app stores in a loader.
@Suite(.timeLimit(.minutes(20)))
struct StoreTests {
    @Test func `a seed stays until the source confirms it, however many values are stored`() async throws {
        let desk = Desk(LoaderLimits(memory: MemoryLimits(count: 4)))
        desk.loader.store(1, for: "a", isSeed: true)
        for number in 0..<100 { desk.loader.store(number, for: "\(number)") }
        #expect(desk.loader.cached("a") == 1)
        async let value = desk.loader.value(for: "a", freshness: .fresh)
        await desk.source.begin()
        desk.source.answer("a", 2)
        #expect(try await value == 2)
        #expect(desk.loader.inspect { $0.machine.memory.seedCount == 0 }, "the seed is now an ordinary value")
    }

    @Test func `C7 a seed is returned immediately, and refreshed for a caller that asks for a refresh`() async throws {
        let desk = Desk()
        desk.loader.store(1, for: "a", isSeed: true)
        #expect(try await desk.loader.value(for: "a") == 1)
        #expect(desk.source.begun.isEmpty)
        #expect(desk.loader.isExpired("a"))
        let listener = Listener(desk.loader, "a", .visible, .cachedThenRefreshed)
        #expect(await listener.next() == "1 from memory")
        await desk.source.begin()
        desk.source.answer("a", .success(.unchanged(Validity())))
        #expect(await listener.next() == "1 from source")
        #expect(!desk.loader.isExpired("a"))
        let next = Listener(desk.loader, "a", .visible, .cachedThenRefreshed)
        #expect(await next.next() == "1 from memory")
        #expect(desk.source.begun.count == 1)
    }

    @Test func `C5 beyond the count limit, the oldest seed becomes an ordinary value`() {
        let desk = Desk(LoaderLimits(memory: MemoryLimits(costBytes: 10, count: 4)))
        for number in 0..<6 { desk.loader.store(number, for: "seed \(number)", isSeed: true) }
        desk.loader.inspect { state in
            #expect(state.machine.memory.seedCount == 4)
            #expect(state.machine.memory.count == 2)
        }
        desk.loader.trim(to: 0)
        #expect((0..<6).filter { desk.loader.cached("seed \($0)") != nil } == [2, 3, 4, 5])
    }

    @Test(arguments: [Int.max, .min, -1])
    func `C5 an invalid cost is harmless`(cost: Int) async throws {
        let loader = Loader<Int, Int>(cost: { _ in cost }) { Fetched($0.key) }
        let window = PrefetchWindow(loader)
        window.setVisible([1, 2, 3])
        #expect(try await loader.value(for: 1) == 1)
        #expect(try await loader.value(for: 2) == 2)
        for number in 0..<3 { loader.store(number, for: number, isSeed: number == 0) }
        #expect(loader.cached(1) == (cost < 0 ? 1 : nil))
        #expect(loader.counts.prefetchedBytes == 0)
        let wide = Loader<Int, Int>(
            limits: LoaderLimits(memory: MemoryLimits(costBytes: .max)), cost: { _ in cost }
        ) { Fetched($0.key) }
        for number in 0..<10 { wide.store(number, for: number) }
        #expect(wide.inspect { $0.machine.memory.cost } == 0)
    }

    @Test func `C5 seeds ignore every limit but the count, and take no space from other values`() {
        let desk = Desk(LoaderLimits(memory: MemoryLimits(costBytes: 4, count: 100, age: .seconds(10))))
        for number in 0..<100 { desk.loader.store(number, for: "seed \(number)", isSeed: true) }
        desk.clock.advance(by: .seconds(100))
        for number in 0..<4 { desk.loader.store(number, for: "\(number)") }
        for number in 0..<4 { #expect(desk.loader.cached("\(number)") == number) }
        desk.loader.trim(to: 0)
        for number in 0..<100 { #expect(desk.loader.cached("seed \(number)") == number) }
        for number in 0..<100 { desk.loader.store(number, for: "seed \(number)") }
        desk.loader.inspect { state in
            #expect(state.machine.memory.seedCount == 0)
            #expect(state.machine.memory.cost <= 4)
            #expect(state.machine.memory.cost == state.machine.memory.addedCost)
        }
        desk.loader.store(1, for: "seed", isSeed: true)
        desk.loader.removeAll()
        #expect(desk.loader.cached("seed") == nil)
    }

    @Test(arguments: [true, false])
    func `C2 waiting holders get the stored value, and the unneeded fetch is cancelled`(isSeed: Bool)
        async throws
    {
        let desk = Desk()
        let (waiting, ahead) = (Listener(desk.loader, "a"), Listener(desk.loader, "a", .prefetch, .cachedThenRefreshed))
        await desk.source.begin()
        desk.loader.store(7, for: "a", isSeed: isSeed)
        #expect(await waiting.next() == "7 from memory")
        #expect(await ahead.next() == "7 from memory")
        #expect(await desk.source.cancellation() == "a")
        desk.source.answer("a", 1)
        #expect(try await desk.loader.value(for: "a") == 7)
        #expect(desk.source.begun == ["a"])
    }

    @Test(arguments: [true, false])
    func `C7 a fetch that began before a store does not undo it: fresh requests fetch again`(
        isSeed: Bool
    ) async throws {
        let desk = Desk(LoaderLimits(fetches: 1, unseenFetches: 1))
        let (fresh, waiting) = (Listener(desk.loader, "a", .visible, .fresh), Listener(desk.loader, "a"))
        await desk.source.begin()
        desk.source.report("a", 0.5)
        _ = await fresh.next()
        desk.loader.store(7, for: "a", isSeed: isSeed)
        #expect(await waiting.next() == "progress 0.5")
        #expect(await waiting.next() == "7 from memory")
        #expect(await desk.source.cancellation() == "a")
        await desk.source.begin()
        #expect(desk.loader.cached("a") == 7)
        desk.source.answer("a", 8)
        #expect(await fresh.next() == "8 from source")
        #expect(desk.loader.cached("a") == 8)
        desk.loader.inspect { state in #expect(state.machine.lanes.allSatisfy { $0.running == 0 }) }
    }

    @Test func `C3 a queued key is not fetched once the app has stored its value`() async throws {
        let desk = Desk(LoaderLimits(fetches: 1, unseenFetches: 1))
        let first = Listener(desk.loader, "first")
        await desk.source.begin()
        let (waiting, fresh) = (Listener(desk.loader, "a"), Listener(desk.loader, "b", .visible, .fresh))
        desk.loader.store(7, for: "a")
        desk.loader.store(7, for: "b")
        #expect(await waiting.next() == "7 from memory")
        desk.source.answer("first", 0)
        #expect(await desk.source.begin() == ["b"])
        desk.source.answer("b", 8)
        #expect(await fresh.next() == "8 from source")
        withExtendedLifetime(first) {}
    }

    @Test func `C7 a stored value can be revalidated by its tag`() async throws {
        let desk = Desk()
        desk.loader.store(7, for: "a", validity: Validity(expiresAt: Date(timeIntervalSince1970: 1_060), etag: "one"))
        #expect(try await desk.loader.value(for: "a") == 7)
        desk.clock.advance(by: .seconds(60))
        async let value = desk.loader.value(for: "a")
        await desk.source.begin()
        #expect(desk.source.former("a")?.etag == "one")
        desk.source.answer("a", .success(.unchanged(Validity(etag: "one"))))
        #expect(try await value == 7)
    }
}
