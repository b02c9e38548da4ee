// This source file is part of the Optimist open source project, under the MIT licence.

import Foundation
import OptimistTesting
import Testing

@testable import OptimistCore
@testable import OptimistLoading

@Suite(.timeLimit(.minutes(20)))
struct FeedTests {
    @Test func `F1 one hanging picture of eight does not hide the other seven`() async throws {
        let wall = await Wall.showing(0..<8)
        #expect(wall.feed.snapshot.ids == Array(0..<8), "the items appear before any picture")
        #expect((0..<8).allSatisfy { wall.feed.snapshot.text($0) == "placeholder" })
        wall.feed.setVisible(0..<8)
        await wall.desk.source.begin(8)
        for id in (0..<8).reversed() where id != 3 { wall.desk.source.answer("\(id)", id * 10) }
        let last = await wall.until { snapshot in (0..<8).count { snapshot.phase(of: $0).value != nil } == 7 }
        #expect(last?.ids == Array(0..<8), "the page decides the order, not the first picture")
        #expect(last?.text(3) == "placeholder")
        #expect(last?.text(7) == "loaded(70)")
    }

    @Test func `F2 a failed item shows its failure, blocks no other, and can be retried`() async throws {
        let wall = await Wall.showing(0..<3)
        wall.feed.setVisible(0..<3)
        await wall.desk.source.begin(3)
        wall.desk.source.answer("1", .failure(Broken()))
        wall.desk.source.answer("2", 2)
        await wall.until { $0.text(1) == "failed(broken)" && $0.text(2) == "loaded(2)" }
        wall.feed.retry(1)
        wall.feed.retry(2)
        #expect(await wall.desk.source.begin() == ["1"])
        #expect(wall.feed.snapshot.text(1) == "placeholder")
        wall.desk.source.answer("1", 1)
        #expect(await wall.until { $0.text(1) == "loaded(1)" }?.changes.updated == [1])
        #expect(wall.desk.source.begun.count == 4)
    }

    @Test(arguments: [true, false])
    func `F2 C4 during the pause after a failure a retry fetches, and scrolling does not`(isAll: Bool) async throws {
        let wall = Wall(desk: Desk(LoaderLimits(fetches: 100, linger: .zero), pause: .seconds(60)))
        wall.feed.refresh()
        await wall.pages.request()
        wall.pages.answer(0..<1)
        await wall.until { $0.ids.count == 1 }
        wall.feed.setVisible([0])
        await wall.desk.source.begin()
        wall.desk.source.answer("0", .failure(Broken()))
        await wall.until { $0.text(0) == "failed(broken)" }
        wall.feed.setVisible([])
        wall.feed.setVisible([0])
        #expect(wall.feed.snapshot.text(0) == "failed(broken)")
        if isAll { wall.feed.retryAll() } else { wall.feed.retry(0) }
        #expect(await wall.desk.source.begin() == ["0"])
        wall.desk.source.answer("0", 1)
        await wall.until { $0.text(0) == "loaded(1)" }
        #expect(wall.desk.source.begun.count == 2)
    }

    @Test func `F2 a partial value is shown as stale until the complete one arrives`() async throws {
        let wall = await Wall.showing(0..<1)
        wall.feed.setVisible([0])
        await wall.desk.source.begin()
        wall.desk.source.show("0", 5)
        await wall.until { $0.text(0) == "stale(5)" }
        wall.desk.source.answer("0", 6)
        await wall.until { $0.text(0) == "loaded(6)" }
    }

    @Test
    func `F2 F6 an expired value is shown while a newer one loads; a failure is reported and can be retried`()
        async throws
    {
        let desk = Desk(LoaderLimits(linger: .zero))
        async let former = desk.loader.value(for: "0")
        await desk.source.begin()
        desk.source.answer("0", 1, Validity(expiresAt: .distantPast))
        _ = try await former
        desk.loader.store(2, for: "1")
        let wall = Wall(desk: desk)
        wall.feed.refresh()
        await wall.pages.request()
        wall.pages.answer(0..<2)
        await wall.until { $0.ids.count == 2 }
        wall.feed.setVisible(0..<2)
        #expect(wall.feed.snapshot.text(0) == "stale(1)")
        #expect(wall.feed.snapshot.text(1) == "loaded(2)")
        await desk.source.begin()
        desk.source.answer("0", .failure(Broken()))
        await wall.until { $0.text(0) == "stale(1), failed" }
        // It is requested again only when the user retries.
        wall.feed.retry(0)
        #expect(wall.feed.snapshot.text(0) == "stale(1)")
        await desk.source.begin()
        desk.source.answer("0", .failure(Broken()))
        await wall.until { $0.text(0) == "stale(1), failed" }
        wall.feed.retryAll()
        await desk.source.begin()
        desk.source.answer("0", .failure(Broken()))
        await wall.until { $0.text(0) == "stale(1), failed" }
        wall.feed.setVisible([])
        wall.feed.setVisible([0])
        await desk.source.begin()
        desk.source.answer("0", 3)
        await wall.until { $0.text(0) == "loaded(3)" }
    }

    @Test func `F3 a thousand changes make one snapshot per frame, and the last is the newest`() async throws {
        let wall = Wall(frame: .milliseconds(16))
        #expect(await wall.next()?.ids == [])
        wall.feed.refresh()
        await wall.pages.request()
        wall.pages.answer(0..<1_000)
        while wall.feed.snapshot.ids.isEmpty { await Task.yield() }
        wall.feed.setVisible(0..<1_000)
        await wall.desk.source.begin(100)
        async let page = wall.next()
        await wall.desk.clock.sleepers(atLeast: 1)
        wall.desk.clock.advance(by: .milliseconds(16))
        #expect(await page?.changes.inserted.count == 1_000)
        for id in 0..<1_000 {
            wall.desk.source.answer("\(id)", id)
            if id < 900 { await wall.desk.source.begin() }
        }
        while wall.feed.snapshot.phases.count < 1_000 { await Task.yield() }
        wall.desk.clock.advance(by: .milliseconds(16))
        let last = await wall.next()
        #expect(last?.changes.updated.count == 1_000, "all changes are in one snapshot")
        #expect(last?.changes.isStructural == false)
        #expect(wall.desk.clock.untilNextSleeper == nil, "no snapshot is pending")
    }

    @Test func `F3 values in memory appear in one snapshot, immediately`() async throws {
        let wall = Wall(frame: .milliseconds(16))
        for id in 0..<8 { wall.desk.loader.store(id, for: "\(id)") }
        wall.feed.refresh()
        await wall.pages.request()
        wall.pages.answer(0..<8)
        while wall.feed.snapshot.ids.isEmpty { await Task.yield() }
        await wall.until { $0.ids.count == 8 }
        wall.desk.clock.advance(by: .milliseconds(16))
        wall.feed.setVisible(0..<8)
        #expect(await wall.next()?.changes.updated == Set(0..<8))
        #expect(wall.desk.source.begun.isEmpty)
    }

    @Test func `F3 no observer gets two snapshots in a frame, however late or slow it is`() async throws {
        let wall = Wall(frame: .milliseconds(200))
        #expect(await wall.next()?.ids == [])
        wall.desk.clock.advance(by: .milliseconds(190))
        let late = wall.feed.snapshots()
        #expect(await late.first { _ in true }?.ids == [], "the first snapshot arrives at once")
        wall.feed.refresh()
        async let second = late.first { _ in true }
        await wall.desk.clock.sleepers(atLeast: 1)
        #expect(wall.desk.clock.untilNextSleeper == .milliseconds(200), "the observer's own frame")
        wall.desk.clock.advance(by: .milliseconds(199))
        #expect(await wall.next()?.state == "loading", "the other observer's frame is long over")
        wall.desk.clock.advance(by: .milliseconds(1))
        #expect(await second?.state == "loading")
    }

    @Test func `F3 a slow observer gets the newest snapshot with all changes since its last`() async throws {
        let wall = await Wall.showing(0..<4)
        wall.feed.setVisible(0..<4)
        await wall.desk.source.begin(4)
        for id in 0..<4 { wall.desk.source.answer("\(id)", id) }
        while wall.feed.snapshot.phases.count < 4 { await Task.yield() }
        let other = await wall.feed.snapshots().first { _ in true }
        #expect(other?.changes.inserted == Set(0..<4), "for a new observer, all items are new")
        #expect(await wall.next()?.changes.changedIDs == Set(0..<4))
    }

    @Test func `F5 sections load and fail independently`() async throws {
        let wall = Wall([.chosen, .recommended])
        wall.feed.refresh()
        for _ in 0..<2 { await wall.pages.request() }
        wall.pages.answer(in: .recommended, 10..<14)
        let first = await wall.until { $0.section(.recommended)?.items.count == 4 }
        #expect(first?.state == "loading")
        wall.pages.answer(in: .chosen, .failure(Broken()))
        let second = await wall.until { $0.state == "failed(broken)" }
        #expect(second?.section(.recommended)?.items.count == 4)
        #expect(second?.changes.sections == [.chosen])
        wall.feed.retry(section: .recommended)
        wall.feed.retryAll()
        #expect(await wall.pages.request()?.section == .chosen)
        wall.pages.answer(in: .chosen, 0..<4)
        #expect(await wall.until { $0.ids.count == 4 }?.changes.inserted == Set(0..<4))
        #expect(wall.pages.asked.count == 3)
    }

    @Test func `F4 F5 an item in two sections appears only in the first, whichever loaded first`() async throws {
        let wall = Wall([.chosen, .recommended])
        wall.feed.refresh()
        for _ in 0..<2 { await wall.pages.request() }
        wall.pages.answer(in: .recommended, [1, 2, 3])
        await wall.until { $0.section(.recommended)?.items.count == 3 }
        wall.pages.answer(in: .chosen, [2, 4])
        let both = await wall.until { $0.ids == [2, 4] }
        #expect(both?.section(.recommended)?.items.map(\.id) == [1, 3])
        #expect(both?.changes.moved == [2])
        #expect(both?.changes.inserted == [4])
        wall.feed.refresh()
        for _ in 0..<2 { await wall.pages.request() }
        wall.pages.answer(in: .chosen, [4])
        let last = await wall.until { $0.ids == [4] }
        #expect(last?.section(.recommended)?.items.map(\.id) == [1, 2, 3], "the item returns in its other section")
    }

    @Test func `F7 late answers for an earlier filter never appear`() async throws {
        let wall = Wall()
        wall.feed.refresh()
        await wall.pages.request()
        wall.feed.setFilter("two people")
        #expect(await wall.pages.request()?.filter == "two people")
        wall.pages.answer(filter: "two people", [1, 2])
        await wall.until { $0.ids == [1, 2] }
        wall.pages.answer(filter: "all", [7, 8, 9])
        wall.feed.setVisible([1])
        await wall.desk.source.begin()
        wall.feed.setFilter("all")
        #expect(wall.feed.snapshot.ids == [], "items that do not pass the filter are not shown meanwhile")
        #expect(await wall.pages.request()?.filter == "all")
        wall.desk.source.answer("1", 1)
        wall.pages.answer(filter: "all", [1, 5])
        let last = await wall.until { !$0.ids.isEmpty }
        #expect(last?.ids == [1, 5])
        #expect(last?.filter == "all")
        #expect(wall.desk.loader.counts.cancelled == 1)
        wall.feed.setFilter("all")
        #expect(wall.pages.asked.count == 3, "the same filter requests nothing")
    }

    @Test func `a released feed cancels its loads and ends its streams`() async throws {
        let (source, loader, ending) = await begin()
        #expect(await source.cancellation() == "0")
        await ending.value
        #expect(loader.inspect { $0.machine.holders.count } == 0)
    }

    /// The objects that remain after the feed is released.
    private func begin() async -> (Source, Loader<String, Int>, ending: Task<Void, Never>) {
        let wall = await Wall.showing(0..<2)
        let snapshots = wall.feed.snapshots()
        wall.feed.setVisible([0])
        await wall.desk.source.begin()
        return (wall.desk.source, wall.desk.loader, Task { for await _ in snapshots {} })
    }
}
