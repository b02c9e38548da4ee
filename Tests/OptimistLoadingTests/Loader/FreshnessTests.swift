// This source file is part of the Optimist open source project, under the MIT licence.

import Foundation
import OptimistCore
import OptimistTesting
import Testing

@testable import OptimistLoading

@Suite(.timeLimit(.minutes(20)))
struct FreshnessTests {
    private let desk = Desk()
    /// The desk's clock starts at 1,000 s.
    private let minute = Validity(expiresAt: Date(timeIntervalSince1970: 1_060), etag: "one")

    private func have(_ value: Int, _ validity: Validity) async {
        let listener = Listener(desk.loader, "a")
        await desk.source.begin()
        desk.source.answer("a", value, validity)
        _ = await listener.next()
    }

    @Test func `C7 cached: a value is used until it expires, and is then fetched`() async throws {
        await have(1, minute)
        desk.clock.advance(by: .seconds(59))
        #expect(try await desk.loader.value(for: "a") == 1)
        desk.clock.advance(by: .seconds(1))
        #expect(desk.loader.cached("a") == 1, "the value that is returned at once may have expired")
        async let value = desk.loader.value(for: "a")
        await desk.source.begin()
        #expect(desk.source.former("a") == minute)
        desk.source.answer("a", 2)
        #expect(try await value == 2)
    }

    @Test func `C7 cachedThenRefreshed: the cached value arrives immediately, and a newer one follows if it expired`()
        async throws
    {
        await have(1, minute)
        let fresh = Listener(desk.loader, "a", .visible, .cachedThenRefreshed)
        #expect(await fresh.next() == "1 from memory")
        #expect(desk.source.begun.count == 1)
        desk.clock.advance(by: .seconds(60))
        let expired = Listener(desk.loader, "a", .visible, .cachedThenRefreshed)
        #expect(await expired.next() == "1 from memory")
        await desk.source.begin()
        desk.source.answer("a", 2)
        #expect(await expired.next() == "2 from source")
    }

    @Test func `C7 a task gets the expired value, and it is refreshed for the next caller`() async throws {
        await have(1, minute)
        desk.clock.advance(by: .seconds(60))
        #expect(try await desk.loader.value(for: "a", freshness: .cachedThenRefreshed) == 1)
        await desk.source.begin()
        desk.clock.advance(by: .seconds(1))
        #expect(desk.source.cancelled.isEmpty)
        // The new listener joins the refresh. If the refresh had ended, the listener would begin another one.
        let next = Listener(desk.loader, "a", .visible, .fresh)
        desk.source.answer("a", 2)
        _ = await next.next()
        #expect(desk.loader.cached("a") == 2)
    }

    @Test func `C7 fresh: the source is always asked, and may confirm the value`() async throws {
        await have(1, minute)
        async let value = desk.loader.value(for: "a", freshness: .fresh)
        await desk.source.begin()
        #expect(desk.source.former("a")?.etag == "one")
        let later = Validity(expiresAt: Date(timeIntervalSince1970: 2_000), etag: "one")
        desk.source.answer("a", .success(.unchanged(later)))
        #expect(try await value == 1)
        desk.clock.advance(by: .seconds(100))
        #expect(try await desk.loader.value(for: "a") == 1, "the value has not expired now")
        #expect(desk.loader.counts.unchanged == 1)
    }

    @Test(arguments: [(Double.nan, true), (.infinity, false), (-.infinity, true), (1e300, false), (-1e300, true)])
    func `C7 an expiry date that is not a number counts as expired, after a relaunch as well`(
        seconds: Double, hasPassed: Bool
    ) async throws {
        let folder = TemporaryFolder()
        func desk() -> Desk {
            Desk(
                disk: DiskTier(
                    folder.cache(), name: { $0 }, decode: { Int($0[0]) }, encode: { [UInt8($0)] }))
        }
        let first = desk()
        first.loader.store(1, for: "a", validity: Validity(expiresAt: Date(timeIntervalSince1970: seconds)))
        await first.loader.disk?.settled()
        for desk in [first, desk()] {
            let fetches = Task { try await desk.loader.value(for: "a") }
            if hasPassed {
                await desk.source.begin()
                desk.source.answer("a", 2)
            }
            #expect(try await fetches.value == (hasPassed ? 2 : 1))
            await desk.loader.disk?.settled()
            first.loader.store(1, for: "a", validity: Validity(expiresAt: Date(timeIntervalSince1970: seconds)))
            await first.loader.disk?.settled()
        }
    }

    @Test func `C7 a confirmation without a tag keeps the tag`() async throws {
        await have(1, minute)
        for _ in 0..<3 {
            async let value = desk.loader.value(for: "a", freshness: .fresh)
            await desk.source.begin()
            #expect(desk.source.former("a")?.etag == "one")
            desk.source.answer("a", .success(.unchanged(Validity())))
            #expect(try await value == 1)
        }
    }

    @Test func `C3 a task cancelled before it asks begins no fetch`() async throws {
        let loader = desk.loader
        let task = Task {
            while !Task.isCancelled { await Task.yield() }
            return try await loader.value(for: "a")
        }
        task.cancel()
        await #expect(throws: CancellationError.self) { try await task.value }
        #expect(desk.loader.counts.fetches == 0)
        #expect(desk.loader.inspect { $0.machine.holders.count } == 0)
    }

    @Test func `C3 a task cancelled while it waits leaves no fetch behind`() async throws {
        let desk = Desk(LoaderLimits(linger: .zero))
        let loader = desk.loader
        let task = Task { try await loader.value(for: "a", freshness: .cachedThenRefreshed) }
        await desk.source.begin()
        task.cancel()
        await #expect(throws: CancellationError.self) { try await task.value }
        #expect(await desk.source.cancellation() == "a")
    }

    @Test func `a source that confirms a value it was not asked about fails with an error`() async throws {
        let listener = Listener(desk.loader, "a")
        await desk.source.begin()
        desk.source.answer("a", .success(.unchanged(Validity())))
        #expect(await listener.next()?.contains("nothingToKeep") == true)
    }

    @Test func `C5 a value over its maximum age is removed`() async throws {
        let desk = Desk(LoaderLimits(memory: MemoryLimits(age: .seconds(10))))
        desk.loader.store(1, for: "a")
        desk.clock.advance(by: .seconds(10))
        #expect(desk.loader.cached("a") == 1)
        desk.clock.advance(by: .seconds(1))
        #expect(desk.loader.cached("a") == nil)
        desk.loader.trim(to: 1)
        #expect(desk.loader.inspect { $0.machine.memory.count } == 0)
    }

}
