// This source file is part of the Optimist open source project, under the MIT licence.

import Foundation
import OptimistCore
import OptimistTesting
import Testing

@testable import OptimistLoading

@Suite(.timeLimit(.minutes(20)))
struct SuspendingTests {
    @Test func `C12: a suspended loader starts no fetch, finishes running ones, and resumes by priority`()
        async throws
    {
        let desk = Desk(LoaderLimits(fetches: 1, unseenFetches: 1))
        async let first = desk.loader.value(for: "first")
        await desk.source.begin()
        desk.loader.suspend()
        let (later, sooner) = (
            Listener(desk.loader, "later", .prefetch), Listener(desk.loader, "sooner", .visible)
        )
        desk.source.answer("first", 1)
        #expect(try await first == 1)
        #expect(desk.source.begun == ["first"])
        #expect(desk.loader.cached("first") == 1)
        desk.loader.suspend()
        desk.loader.resume()
        #expect(await desk.source.begin() == ["sooner"])
        desk.source.answer("sooner", 2)
        #expect(await sooner.next() == "2 from source")
        await desk.source.begin()
        desk.source.answer("later", 3)
        #expect(await later.next() == "3 from source")
    }

    @Test func `C12: the end of a batch does not resume a loader, and resuming does not end a batch`() async {
        let desk = Desk()
        desk.loader.suspend()
        var listener: Listener?
        desk.loader.batch { listener = Listener(desk.loader, "a") }
        #expect(desk.source.begun.isEmpty)
        desk.loader.batch {
            desk.loader.resume()
            #expect(desk.loader.counts.fetches == 0)
        }
        #expect(await desk.source.begin() == ["a"])
        desk.source.answer("a", 1)
        #expect(await listener?.next() == "1 from source")
    }

    @Test func `C12: a suspended loader still reads the disk`() async throws {
        let folder = TemporaryFolder()
        let tier = { DiskTier<String, Int>(folder.cache()) }
        let before = Desk(disk: tier())
        async let got = before.loader.value(for: "a")
        await before.source.begin()
        before.source.answer("a", 7)
        #expect(try await got == 7)
        await before.loader.disk?.settled()
        let after = Desk(disk: tier())
        after.loader.suspend()
        #expect(try await after.loader.value(for: "a") == 7)
        #expect(after.source.begun.isEmpty)
    }

    @Test func `the loader reports the count and cost of its memory`() async throws {
        let desk = Desk()
        #expect(desk.loader.memory == LoaderMemory(count: 0, costBytes: 0))
        desk.loader.store(1, for: "a")
        desk.loader.store(2, for: "b")
        #expect(desk.loader.memory == LoaderMemory(count: 2, costBytes: 2))
        desk.loader.removeAll()
        #expect(desk.loader.memory.count == 0)
    }
}
