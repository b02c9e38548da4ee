// This source file is part of the Optimist open source project, under the MIT licence.

import OptimistTesting
import TestForm
import Testing

@testable import OptimistCore
@testable import OptimistLoading

@Suite(.timeLimit(.minutes(20)))
struct FeedScrollingTests {
    @Test func `F8 items on screen load first, then those ahead, and items off screen are released`()
        async throws
    {
        let desk = Desk(LoaderLimits(fetches: 1, unseenFetches: 1, linger: .zero))
        let wall = Wall(limits: FeedLimits(ahead: 3, behind: 1), desk: desk)
        wall.feed.refresh()
        await wall.pages.request()
        wall.pages.answer(0..<40)
        await wall.until { $0.ids.count == 40 }
        #expect(await desk.source.begin() == ["0"], "before any item is on the screen, the first item loads")
        wall.feed.setVisible([11, 10])
        #expect(await desk.source.cancellation() == "0")
        for id in [10, 11, 12, 13, 14, 9] {
            #expect(await desk.source.begin() == ["\(id)"])
            desk.source.answer("\(id)", id)
        }
        await wall.until { $0.phases.count == 6 }
        wall.feed.setVisible([9, 10])
        let back = wall.feed.snapshot
        #expect(back.text(9) == "loaded(9)")
        #expect(back.text(11) == "loaded(11)", "behind, now")
        #expect([12, 13, 14].allSatisfy { back.text($0) == "placeholder" })
        for id in [8, 7, 6] {
            #expect(await desk.source.begin() == ["\(id)"], "ahead is the direction of scrolling")
            desk.source.answer("\(id)", id)
        }
        #expect(desk.source.begun.count == 10)
        wall.feed.setVisible([])
        #expect(wall.feed.snapshot.phases.isEmpty)
        #expect(desk.loader.inspect { $0.machine.holders.count } == 0, "nothing is on the screen")
    }

    @Test func `F8 visible ids of the old list do not keep the new list's items from loading`()
        async throws
    {
        let wall = Wall(limits: FeedLimits(ahead: 4, behind: 0))
        wall.feed.refresh()
        await wall.pages.request()
        wall.pages.answer(0..<8)
        await wall.until { $0.ids.count == 8 }
        wall.feed.setVisible([5, 6])
        wall.feed.setVisible([3, 4])
        wall.feed.setFilter("two people")
        wall.feed.setVisible([5, 6])
        wall.feed.setVisible([3, 4])
        await wall.pages.request()
        wall.pages.answer(filter: "two people", 20..<28)
        await wall.until { $0.ids.first == 20 }
        #expect(Set(wall.feed.inspect { $0.wishes.keys }) == Set(20..<24))
        wall.feed.setVisible([])
        #expect(wall.feed.inspect { $0.wishes.isEmpty }, "without visible items, all loads are released")
    }

    @Test func `F8 a failed item is tried again when it returns to the screen`() async throws {
        let wall = await Wall.showing(0..<4)
        wall.feed.setVisible([0])
        await wall.desk.source.begin()
        wall.desk.source.answer("0", .failure(Broken()))
        await wall.until { $0.text(0) == "failed(broken)" }
        wall.feed.setVisible([3])
        #expect(wall.feed.snapshot.text(0) == "placeholder")
        wall.feed.setVisible([0])
        #expect(await wall.desk.source.begin(2).sorted() == ["0", "3"])
    }

    @Test
    func `F3 F4 F8 with thousands of items and flings, loads are bounded, unique and never for items that flew past`()
        async throws
    {
        let network = Network()
        let screen = 12
        let limits = FeedLimits()
        let most = screen + limits.ahead + limits.behind
        let feed = network.feed(limits)
        let (told, snapshots) = (Count(), feed.snapshots())
        let observer = Task { for await _ in snapshots { told.add() } }
        feed.refresh()
        await network.until { feed.snapshot.sections[0].items.count == 8 }
        var random = SplitMix64(seed: 7)
        var (first, speed) = (0, 0)
        var loaded = feed.snapshot.sections[0].items.count
        while loaded < Network.count || first < loaded - screen {
            if speed == 0 { speed = [4, 12, 40, -20].randomElement(using: &random) ?? 4 }
            if Int.random(in: 0..<10, using: &random) == 0 { speed = 0 }
            first = max(0, min(first + speed, loaded - screen))
            feed.setVisible(first..<min(first + screen, loaded))
            #expect(feed.inspect { $0.wishes.count } <= most)
            #expect(feed.inspect { $0.phases.count } <= most)
            await network.frame()
            loaded = feed.snapshot.sections[0].items.count
        }
        let items = feed.snapshot.sections[0].items.map(\.id)
        #expect(items == Array(0..<Network.count))
        #expect(network.cursors.count == Set(network.cursors).count, "each page was requested once")
        #expect(told.value <= network.frames.value + 2, "one snapshot a frame at most")
        await network.until { feed.inspect { $0.phases.count } == network.loader.inspect { $0.machine.holders.count } }
        let counts = network.loader.counts
        #expect(counts.cancelled > Network.count / 100, "loads of items that flew past are cancelled")
        #expect(counts.fetches - counts.cancelled < Network.count / 2)
        #expect(network.loader.inspect { $0.places.count } < 400, "memory is bounded")

        // At the end, a refresh moves no item on the screen.
        let shown = feed.snapshots()
        _ = await shown.first { _ in true }
        network.change()
        feed.refresh()
        await network.until { feed.snapshot.sections[0].items.first?.id == -3 }
        await network.frame()
        let changed = await shown.first { $0.changes.isStructural }
        #expect(changed?.changes.inserted == [-3, -2, -1])
        #expect(changed?.changes.removed == [2])
        #expect(changed?.changes.moved == [])
        #expect(changed?.sections[0].items.suffix(screen).map(\.id) == Array((Network.count - screen)..<Network.count))
        observer.cancel()
    }
}

/// Thousands of photos, eight per page; each picture takes 50 ms.
private final class Network: Sendable {
    static let count = TestForm.of(short: 3_000, full: 10_000)
    let clock = ManualClock()
    let frames = Count()
    let loader: Loader<Int, Int>
    private let asked = Mutex<[String]>([])
    private let top = Mutex(Array(0..<8))

    init() {
        let clock = clock
        loader = Loader(
            limits: LoaderLimits(memory: MemoryLimits(count: 200)), dependencies: Dependencies(clock: clock)
        ) { fetch in
            try await clock.sleep(for: .milliseconds(50))
            return Fetched(fetch.key)
        }
    }

    var cursors: [String] { asked.withLock { $0 } }

    func feed(_ limits: FeedLimits) -> Feed<Kind, NoFilter, Photo, Int> {
        Feed(
            sections: [.chosen], limits: limits, values: loader, key: \.id, dependencies: Dependencies(clock: clock)
        ) { [self] request in
            asked.withLock { $0.append(request.cursor ?? "first") }
            let start = request.cursor.flatMap { Int($0) } ?? 0
            let ids = start == 0 ? top.withLock { $0 } : Array(start..<start + 8)
            return FeedPage(ids.map { Photo(id: $0) }, next: start + 8 < Self.count ? "\(start + 8)" : nil)
        }
    }

    /// Adds three items and removes one.
    func change() { top.withLock { $0 = [-3, -2, -1, 0, 1, 3, 4, 5, 6, 7] } }

    /// Advances by one frame and runs the work that is due.
    func frame() async {
        frames.add()
        clock.advance(by: .milliseconds(16))
        for _ in 0..<6 { await Task.yield() }
    }

    func until(_ condition: () -> Bool) async {
        while !condition() { await frame() }
    }
}

private final class Count: Sendable {
    private let count = Mutex(0)
    var value: Int { count.withLock { $0 } }
    func add() { count.withLock { $0 += 1 } }
}
