// This source file is part of the Optimist open source project, under the MIT licence.

import Foundation
import OptimistCore
import OptimistTesting
import Testing

@_spi(Internals) @testable import OptimistLoading

@Suite(.timeLimit(.minutes(20)))
struct FeedPagingTests {
    @Test func `F4 the next page is requested once, before the end is reached, and the end is a state`() async throws {
        let wall = await Wall.showing(0..<8, next: "b", limits: FeedLimits(ahead: 0, behind: 0, nextPage: 4))
        #expect(wall.feed.snapshot.state == "more")
        wall.feed.setVisible(0..<4)
        #expect(wall.pages.asked.count == 1, "four items follow the screen")
        for first in 1..<4 { wall.feed.setVisible(first..<first + 4) }
        wall.feed.loadMore(in: .chosen)
        #expect(await wall.pages.request()?.cursor == "b")
        #expect(wall.feed.snapshot.state == "loading")
        wall.pages.answer(6..<12)
        let all = await wall.until { $0.state == "ended" }
        #expect(all?.ids == Array(0..<12), "a repeated item appears once")
        #expect(all?.changes.inserted == Set(8..<12))
        wall.feed.setVisible(8..<12)
        wall.feed.loadMore(in: .chosen)
        #expect(wall.pages.asked.count == 2)
    }

    @Test func `F4 a failed page is a state, is not requested again automatically, and can be retried`() async throws {
        let wall = await Wall.showing(0..<8, next: "b")
        wall.feed.setVisible(0..<8)
        await wall.pages.request()
        wall.pages.answer(.failure(Broken()))
        #expect(await wall.until { $0.state == "failed(broken)" }?.ids.count == 8)
        wall.feed.setVisible(1..<8)
        wall.feed.loadMore(in: .chosen)
        #expect(wall.pages.asked.count == 2)
        wall.feed.retry(section: .chosen)
        wall.feed.retry(section: .chosen)
        #expect(await wall.pages.request()?.cursor == "b")
        wall.pages.answer(8..<10)
        await wall.until { $0.ids.count == 10 }
        #expect(wall.pages.asked.count == 3)
    }

    @Test func `F4 after a page of known items, only the next page is requested`() async throws {
        let wall = await Wall.showing(0..<8, next: "b")
        wall.feed.loadMore(in: .chosen)
        for (cursor, next) in [("b", "c"), ("c", "d")] {
            #expect(await wall.pages.request()?.cursor == cursor)
            wall.pages.answer(cursor == "b" ? 2..<6 : 0..<0, next: next)
        }
        #expect(await wall.pages.request()?.cursor == "d")
        wall.pages.answer(8..<9, next: "e")
        await wall.until { $0.ids == Array(0..<9) && $0.state == "more" }
        #expect(wall.pages.asked.count == 4)
    }

    @Test func `F4 a repeated cursor, or too many pages without news, is an error`() async throws {
        let wall = await Wall.showing(0..<8, next: "b")
        wall.feed.loadMore(in: .chosen)
        await wall.pages.request()
        wall.pages.answer(8..<10, next: "b")
        let stopped = await wall.until { $0.state.hasPrefix("failed(pagesRepeat") }
        #expect(stopped?.ids.count == 10, "the page's items are shown")
        wall.feed.retry(section: .chosen)
        for page in 0..<FeedPages<Photo>.mostRepeated {
            await wall.pages.request()
            wall.pages.answer(0..<2, next: "c\(page)")
        }
        await wall.until { $0.state.hasPrefix("failed(pagesRepeat") }
        #expect(wall.pages.asked.count == 2 + FeedPages<Photo>.mostRepeated)
    }

    @Test func `F4 forty empty pages with new cursors lead to the next items; hundreds are an error`()
        async throws
    {
        let wall = await Wall.showing(0..<8, next: "b")
        wall.feed.loadMore(in: .chosen)
        for page in 0..<40 {
            await wall.pages.request()
            wall.pages.answer(0..<0, next: "c\(page)")
        }
        await wall.pages.request()
        wall.pages.answer(8..<9, next: "d")
        await wall.until { $0.ids == Array(0..<9) && $0.state == "more" }
        wall.feed.loadMore(in: .chosen)
        for page in 0..<FeedPages<Photo>.mostBarren {
            await wall.pages.request()
            wall.pages.answer(0..<0, next: "e\(page)")
        }
        await wall.until { $0.state.hasPrefix("failed(pagesEmpty") }
        wall.feed.retry(section: .chosen)
        #expect(await wall.pages.request()?.cursor == "e\(FeedPages<Photo>.mostBarren - 1)")
        wall.pages.answer(9..<10)
        await wall.until { $0.ids == Array(0..<10) && $0.state == "ended" }
    }

    @Test func `F4 the end is reported even if the pages before it had no news`() async throws {
        let wall = await Wall.showing(0..<8, next: "b")
        wall.feed.loadMore(in: .chosen)
        for page in 1..<FeedPages<Photo>.mostRepeated {
            await wall.pages.request()
            wall.pages.answer(0..<2, next: "c\(page)")
        }
        await wall.pages.request()
        wall.pages.answer(0..<2)
        await wall.until { $0.state == "ended" || $0.state.hasPrefix("failed") }
        #expect(wall.feed.snapshot.state == "ended")
    }

    @Test func `F6 the last pages are shown as stale during a refresh and after a failure, and change by difference`()
        async throws
    {
        let wall = await Wall.showing(0..<8)
        wall.feed.refresh()
        #expect(wall.feed.snapshot.state == "stale loading")
        #expect(wall.feed.snapshot.ids == Array(0..<8))
        await wall.pages.request()
        wall.pages.answer(.failure(Broken()))
        #expect(await wall.until { $0.state == "stale failed(broken)" }?.ids == Array(0..<8))
        wall.feed.retry(section: .chosen)
        await wall.pages.request()
        let news = [Photo(id: 9), Photo(id: 2), Photo(id: 0), Photo(id: 3, title: "x"), Photo(id: 4)]
        wall.pages.answer(.success(FeedPage(news)))
        let changes = await wall.until { $0.state == "ended" }?.changes
        #expect(changes?.inserted == [9])
        #expect(changes?.removed == [1, 5, 6, 7])
        #expect(changes?.moved.count == 1 && changes?.moved.isSubset(of: [0, 2]) == true)
        #expect(changes?.updated == [3])
    }

    @Test func `F6 a refresh that meets a known item keeps the items after it and the position in the pages`()
        async throws
    {
        let wall = await Wall.showing(0..<8, next: "b", limits: FeedLimits(ahead: 0, behind: 0, nextPage: 4))
        wall.feed.loadMore(in: .chosen)
        await wall.pages.request()
        wall.pages.answer(8..<16, next: "c")
        await wall.until { $0.ids.count == 16 }
        wall.feed.refresh()
        await wall.pages.request()
        wall.pages.answer([100, 0, 1, 3, 4], next: "z")
        let snapshot = await wall.until { $0.state == "more" && !$0.ids.isEmpty && $0.ids[0] == 100 }
        #expect(snapshot?.ids == [100, 0, 1, 3] + Array(4..<16))
        #expect(snapshot?.changes.inserted == [100])
        #expect(snapshot?.changes.removed == [2])
        #expect(snapshot?.changes.moved == [])
        wall.feed.setVisible([12])
        #expect(await wall.pages.request()?.cursor == "c", "further down, the former pages continue")
        wall.pages.answer(16..<17, next: "d")
        await wall.until { $0.ids.last == 16 }
        wall.feed.setVisible([1])
        #expect(await wall.pages.request()?.cursor == "z", "where both meet, the new pages continue")
    }

    @Test func `F6 an item that moved up far does not count as the meeting point, so items that it passed are kept`()
        async throws
    {
        let wall = await Wall.showing(0..<40, limits: FeedLimits(ahead: 0, behind: 0, nextPage: 4))
        wall.feed.setVisible(0..<4)
        wall.feed.refresh()
        await wall.pages.request()
        let moved = [5, 12, 3, 20, 8, 33, 17, 30]
        wall.pages.answer(moved, next: "8")
        #expect(await wall.until { $0.ids.first == 5 }?.state == "more")
        wall.feed.setVisible(moved.suffix(4))
        #expect(await wall.pages.request()?.cursor == "8")
        let rest = (0..<40).filter { !moved.contains($0) }
        wall.pages.answer(rest)
        await wall.until { $0.ids == moved + rest && $0.state == "ended" }
    }

    @Test func `F6 if a refresh meets two items that moved up, the pages contain the items they passed`() async throws {
        let wall = await Wall.showing(0..<40, limits: FeedLimits(ahead: 0, behind: 0, nextPage: 4))
        let moved = [5, 12, 3, 20, 8, 33, 29, 30]
        let rest = (0..<40).filter { !moved.contains($0) }
        wall.feed.refresh()
        await wall.pages.request()
        wall.pages.answer(moved, next: "8")
        let met = await wall.until { $0.ids.first == 5 }
        #expect(met?.ids == moved + rest.filter { $0 > 30 })
        #expect(met?.state == "more", "the server has not reported the end")
        wall.feed.setVisible([33, 29])
        #expect(await wall.pages.request()?.cursor == "8")
        wall.pages.answer(rest.prefix(8), next: "16")
        let more = await wall.until { $0.ids.count > 20 }
        #expect(more?.ids == moved + rest.prefix(8) + rest.filter { $0 > 30 })
        #expect(more?.changes.inserted == Set(rest.prefix(8)))
        wall.feed.setVisible([37])
        #expect(await wall.pages.request()?.cursor == "16", "also at the end of all items")
        wall.pages.answer(rest.dropFirst(8))
        await wall.until { $0.ids == moved + rest && $0.state == "ended" }
    }

    @Test func `F6 a refresh requests as many pages as the screen has scrolled past, and keeps its place`()
        async throws
    {
        let wall = await Wall.showing(0..<24, next: "b", limits: FeedLimits(ahead: 0, behind: 0, nextPage: 0))
        wall.feed.setVisible(10..<14)
        wall.feed.refresh()
        #expect(await wall.pages.request()?.cursor == nil)
        wall.pages.answer(100..<108, next: "1")
        #expect(await wall.pages.request()?.cursor == "1")
        #expect(wall.feed.snapshot.ids == Array(0..<24), "the old pages stay until the new pages are long enough")
        wall.pages.answer(108..<112, next: "2")
        #expect(await wall.pages.request()?.cursor == "2")
        wall.pages.answer([112, 12, 13], next: "3")
        let snapshot = await wall.until { $0.ids.first == 100 }
        #expect(snapshot?.ids == Array(100..<113) + Array(12..<24))
        #expect(snapshot?.changes.removed == Set(0..<12))
    }

    @Test func `F6 a refresh that meets no known item ends at the screen or after a few pages`()
        async throws
    {
        let limits = FeedLimits(ahead: 0, behind: 0, nextPage: 0, refreshPages: 3)
        let wall = await Wall.showing(0..<24, next: "b", limits: limits)
        wall.feed.setVisible(2..<6)
        wall.feed.refresh()
        await wall.pages.request()
        wall.pages.answer(100..<108, next: "1")
        await wall.until { $0.ids == Array(100..<108) }
        wall.feed.loadMore(in: .chosen)
        #expect(await wall.pages.request()?.cursor == "1")
        wall.pages.answer(108..<140, next: "2")
        await wall.until { $0.ids.count == 40 }
        wall.feed.setVisible(130..<134)
        wall.feed.refresh()
        for page in 0..<3 {
            #expect(await wall.pages.request()?.cursor == (page == 0 ? nil : "n\(page)"))
            wall.pages.answer([200 + page], next: "n\(page + 1)")
        }
        await wall.until { $0.ids == [200, 201, 202] }
    }

    @Test func `F6 an item with a new description is loaded again and shows its old value until then`()
        async throws
    {
        let wall = await Wall.showing(0..<2)
        wall.feed.setVisible(0..<2)
        await wall.desk.source.begin(2)
        wall.desk.source.answer("0", 1)
        await wall.until { $0.text(0) == "loaded(1)" }
        wall.feed.refresh()
        await wall.pages.request()
        wall.pages.answer(.success(FeedPage([Photo(id: 0, title: "x"), Photo(id: 1)])))
        #expect(await wall.desk.source.begin() == ["0x"])
        #expect(wall.feed.snapshot.text(0) == "stale(1)")
        wall.desk.source.answer("0x", 2)
        await wall.until { $0.text(0) == "loaded(2)" }
        #expect(wall.desk.source.begun.count == 3, "the other item's fetch continues")
    }
}

/// A launch of the app uses the archive of an earlier one.
@Suite(.timeLimit(.minutes(20)))
struct FeedArchiveTests {
    private let folder = TemporaryFolder()

    private func archive(limit: Int = 12) -> FeedArchive<Kind, String, Photo> {
        FeedArchive(folder.cache(), limit: limit) { "\($0) \($1)" }
    }

    private func fill(_ archive: FeedArchive<Kind, String, Photo>) async {
        let wall = Wall(archive: archive)
        wall.feed.refresh()
        for (cursor, ids) in [("b", 0..<8), ("c", 8..<12), ("d", 12..<20)] {
            await wall.pages.request()
            wall.pages.answer(ids, next: cursor)
            await wall.until { $0.ids.last == ids.last }
            if cursor != "d" { wall.feed.loadMore(in: .chosen) }
        }
        await archive.settled()
    }

    @Test func `F6 offline the archived pages appear immediately, stale, and new pages continue them`() async throws {
        await fill(archive())
        let wall = Wall(archive: archive())
        wall.feed.refresh()
        await wall.until { $0.state == "stale loading" && $0.ids == Array(0..<12) }
        await wall.pages.request()
        wall.pages.answer(.failure(Broken()))
        await wall.until { $0.state == "stale failed(broken)" }
        wall.feed.retryAll()
        await wall.pages.request()
        wall.pages.answer([20, 0, 1], next: "x")
        await wall.until { $0.ids == [20] + Array(0..<12) && $0.state == "more" }
        wall.feed.loadMore(in: .chosen)
        #expect(await wall.pages.request()?.cursor == "x")
        wall.pages.answer(2..<30)
        await wall.until { $0.ids == [20, 0, 1] + Array(2..<20) + Array(21..<30) && $0.state == "ended" }
    }

    @Test func `F6 archived pages are ignored once the source has answered, and belong to one filter`() async throws {
        await fill(archive())
        let wall = Wall(archive: archive())
        wall.feed.refresh()
        await wall.pages.request()
        wall.pages.answer([5])
        await wall.until { $0.ids == [5] && $0.state == "ended" }
        wall.feed.setFilter("other")
        await wall.pages.request()
        wall.pages.answer(.failure(Broken()))
        #expect(await wall.until { $0.state == "failed(broken)" }?.ids == [])
    }

    @Test func `F7 archived pages of an earlier filter never appear, even if read late`() {
        var machine = FeedMachine<Kind, String, Photo, Int>(
            sections: [.chosen], filter: "all", limits: FeedLimits(), archiveLimit: 8)
        machine.refresh()
        machine.setFilter("other")
        machine.recalled(FeedPage([Photo(id: 1)]), of: .chosen, era: 0)
        #expect(machine.shownSections()[0].items.isEmpty)
        machine.recalled(FeedPage([Photo(id: 2)]), of: .chosen, era: 1)
        #expect(machine.shownSections()[0].items.map(\.id) == [2])
    }

    @Test
    func `C10 removing everything clears the screen and the archive, and late answers leave nothing behind`()
        async throws
    {
        await fill(archive())
        let (former, archive) = (archive(), archive())
        former.keep(FeedPage([Photo(id: 7)]), of: .recommended, "all", generation: former.generation)
        await former.settled()
        let wall = Wall(archive: archive)
        wall.feed.refresh()
        await wall.pages.request()
        wall.pages.answer(0..<8, next: "b")
        await wall.until { $0.ids.starts(with: 0..<8) && $0.state == "more" }
        wall.feed.loadMore(in: .chosen)
        await wall.pages.request()
        let generation = archive.generation
        await wall.feed.removeAll()
        #expect(wall.feed.snapshot.ids == [] && wall.feed.snapshot.state == "more")
        wall.pages.answer(8..<12)
        archive.keep(FeedPage([Photo(id: 8)]), of: .chosen, "all", generation: generation)
        await archive.settled()
        for kind in [Kind.chosen, .recommended] {
            let left = await self.archive().page(of: kind, "all")
            #expect(left == nil)
        }
        #expect(wall.feed.snapshot.ids == [])
        wall.feed.refresh()
        #expect(await wall.pages.request()?.cursor == nil)
        wall.pages.answer([1])
        await wall.until { $0.ids == [1] && $0.state == "ended" }
        await archive.settled()
        #expect(
            await self.archive().page(of: .chosen, "all") == FeedPage([Photo(id: 1)]), "the next account's page is kept"
        )
    }

    @Test func `an unreadable archive of an older app version is ignored`() async throws {
        let cache = folder.cache()
        cache.store(DiskEntry(bytes: [1, 2, 3], storedAt: .distantPast), for: "chosen all")
        #expect(await archive().page(of: .chosen, "all") == nil)
    }

    @Test func `the archive keeps complete pages, and the first one even over the limit`() async throws {
        await fill(archive(limit: 4))
        #expect(await archive().page(of: .chosen, "all") == FeedPage((0..<8).map { Photo(id: $0) }, next: "b"))
    }
}
