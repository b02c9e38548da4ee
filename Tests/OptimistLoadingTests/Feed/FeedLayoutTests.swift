// This source file is part of the Optimist open source project, under the MIT licence.

import OptimistCore
import Testing

@testable import OptimistLoading

/// The order of a feed's sections, without a source or a screen.
@Suite(.timeLimit(.minutes(20)))
struct FeedLayoutTests {
    private struct Item: Identifiable, Equatable {
        let id: Int
        var text = ""
    }

    private typealias Layout = FeedLayout<Item>

    private static func page(_ ids: some Sequence<Int>, next: String? = nil) -> FeedPage<Item> {
        FeedPage(ids.map { Item(id: $0) }, next: next)
    }

    /// A layout with one page in each section.
    private static func layout(_ sections: [Int]...) -> Layout {
        var layout = Layout(sections: sections.count)
        for (section, ids) in sections.enumerated() { answer(page(ids), in: section, of: &layout) }
        return layout
    }

    /// A section's first page replaces its items.
    private static func answer(_ page: FeedPage<Item>, in section: Int, of layout: inout Layout) {
        layout.change(section, isAddition: false) { pages in
            _ = pages.refresh()
            _ = pages.answered(page, reach: 0, mostPages: 1, hasNews: true)
        }
    }

    private static func ids(_ section: Int, of layout: inout Layout) -> [Int] { layout.items(of: section).map(\.id) }

    /// Walks the items from one end to the other, `step` at a time.
    private static func walk(_ layout: Layout, from place: Layout.Place?, isForward: Bool, step: Int) -> [Int] {
        var (found, here): ([Int], Layout.Place?) = ([], place)
        while true {
            let items = layout.items(beside: here, isForward: isForward, count: step)
            found += items.map(\.id)
            guard let last = items.last else { return found }
            here = layout.place(of: last.id)
        }
    }

    @Test func `F4 an item in several sections appears only in the first`() {
        var layout = Self.layout([3, 1], [1, 5, 3], [5, 1, 7])
        #expect((0...2).map { Self.ids($0, of: &layout) } == [[3, 1], [5], [7]])
        #expect(layout.place(of: 1) == Layout.Place(section: 0, index: 1))
        #expect(layout.place(of: 7) == Layout.Place(section: 2, index: 2), "hidden items count")
        #expect(layout.place(of: 9) == nil)
        #expect(layout.item(at: Layout.Place(section: 1, index: 1)).id == 5)
    }

    @Test func `F5 an item that leaves one section appears in the next section that has it`() {
        var layout = Self.layout([1, 2], [2, 3])
        #expect(Self.ids(1, of: &layout) == [3])
        Self.answer(Self.page([1]), in: 0, of: &layout)
        #expect(Self.ids(1, of: &layout) == [2, 3])
        Self.answer(Self.page([]), in: 1, of: &layout)
        #expect(Self.ids(0, of: &layout) == [1])
        #expect(Self.ids(1, of: &layout).isEmpty)
    }

    @Test func `F6 a section's version changes unless items are only added at its end`() {
        var layout = Layout(sections: 3)
        #expect(layout.versions == [0, 0, 0])
        layout.change(1, isAddition: false) { _ in }
        #expect(layout.versions == [0, 1, 1])
        layout.change(1, isAddition: true) { _ in }
        #expect(layout.versions == [0, 1, 2], "an added item may hide an item in a later section")
        #expect(layout.update(0) { $0.refresh() } == FeedPages.Question(cursor: nil))
        #expect(layout.versions == [0, 1, 2])
        #expect(layout.pages[0].isRefreshing)
    }

    @Test func `F7 the layout for another filter starts without the previous items and versions`() {
        let former = Self.layout([1], [2])
        var layout = Layout(replacing: former)
        #expect((0...1).map { Self.ids($0, of: &layout) } == [[], []])
        #expect(layout.versions == former.versions.map { $0 + 1 })
        #expect(layout.place(of: 1) == nil)
    }

    @Test func `F4 a page is new if one of its items is in neither its section nor an earlier section`() {
        let layout = Self.layout([1], [2], [3])
        #expect(!layout.hasNews(Self.page([1, 2]), in: 1))
        #expect(layout.hasNews(Self.page([1, 3]), in: 1), "the new item hides its copy in a later section")
        #expect(layout.hasNews(Self.page([4]), in: 0))
        #expect(!layout.hasNews(Self.page([]), in: 0))
    }

    @Test func `F8 neighbours of a place skip hidden items and empty sections`() {
        let layout = Self.layout([1, 2], [], [2, 3, 1, 4], [])
        func beside(_ id: Int?, _ count: Int, isForward: Bool) -> [Int] {
            layout.items(beside: id.flatMap { layout.place(of: $0) }, isForward: isForward, count: count).map(\.id)
        }
        #expect(beside(nil, 3, isForward: true) == [1, 2, 3])
        #expect(beside(2, 9, isForward: true) == [3, 4])
        #expect(beside(4, 2, isForward: false) == [3, 2])
        #expect(beside(4, 9, isForward: true).isEmpty)
        #expect(beside(1, 9, isForward: false).isEmpty)
        #expect(beside(nil, 9, isForward: false).isEmpty, "no item is before the first")
        #expect(beside(1, 0, isForward: true).isEmpty)
        let empty = Layout(sections: 2)
        #expect(empty.items(beside: nil, isForward: true, count: 5).isEmpty)
    }

    @Test(arguments: 1...200)
    func `F4 F8 whatever pages arrive, each item appears once, in order and without a gap`(
        seed: UInt64
    ) {
        var random = SplitMix64(seed: seed)
        var layout = Layout(sections: Int.random(in: 1...4, using: &random))
        for _ in 0..<40 {
            let section = Int.random(in: layout.pages.indices, using: &random)
            let before = (versions: layout.versions, shown: layout.pages.indices.map { Self.ids($0, of: &layout) })
            let ids = (0..<Int.random(in: 0...6, using: &random)).map { _ in Int.random(in: 0..<15, using: &random) }
            let next = Bool.random(using: &random) ? "\(Int.random(in: 0..<1_000_000, using: &random))" : nil
            let list = layout.pages[section].list
            if case .more = layout.pages[section].state, list.next != nil, list.seam == nil {
                layout.change(section, isAddition: true) { pages in
                    #expect(pages.next() != nil)
                    _ = pages.answered(Self.page(ids, next: next), reach: 0, mostPages: 1, hasNews: true)
                }
            } else {
                Self.answer(Self.page(ids, next: next), in: section, of: &layout)
            }
            // The rule restated: each section shows its list without items from earlier sections.
            var seen: Set<Int> = []
            let expected = layout.pages.map { pages in pages.list.items.map(\.id).filter { seen.insert($0).inserted } }
            let shown = layout.pages.indices.map { Self.ids($0, of: &layout) }
            #expect(shown == expected)
            for section in shown.indices where layout.versions[section] == before.versions[section] {
                #expect(
                    shown[section].starts(with: before.shown[section]),
                    "an unchanged version means that items were only added")
            }
            let (all, step) = (shown.flatMap(\.self), Int.random(in: 1...4, using: &random))
            #expect(Self.walk(layout, from: nil, isForward: true, step: step) == all)
            if let last = all.last {
                let back = Self.walk(layout, from: layout.place(of: last), isForward: false, step: step)
                #expect([last] + back == all.reversed())
            }
        }
    }
}
