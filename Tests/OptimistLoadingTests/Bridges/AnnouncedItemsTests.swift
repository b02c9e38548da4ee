// This source file is part of the Optimist open source project, under the MIT licence.

import Testing

@testable import OptimistLoading

@Suite(.timeLimit(.minutes(20)))
struct AnnouncedItemsTests {
    private let desk = Desk(LoaderLimits(linger: .zero))

    private func announce(_ key: String, at path: Int, _ items: inout AnnouncedItems<Int, String, LoadSubscription>) {
        items.announce(path, key) { desk.loader.subscribe(key, priority: .prefetch) { _ in } }
    }

    private var held: Int { desk.loader.inspect { $0.machine.holders.count } }

    @Test func `F8 an announced item is held once, until it is cancelled or displaced`() {
        var items = AnnouncedItems<Int, String, LoadSubscription>(limit: 3)
        for path in [0, 1, 1, 2] { announce("\(path)", at: path, &items) }
        #expect(held == 3)
        announce("3", at: 3, &items)
        #expect(held == 3)
        items.cancel([1, 0])
        #expect(held == 2)
        items.removeAll()
        #expect(held == 0)
    }

    @Test func `F8 after a reload, the new item at a path replaces the one held before`() async {
        var items = AnnouncedItems<Int, String, LoadSubscription>(limit: 3)
        announce("former", at: 0, &items)
        await desk.source.begin()
        announce("present", at: 0, &items)
        #expect(await desk.source.cancellation() == "former")
        #expect(await desk.source.begin() == ["present"])
        #expect(items.count == 1)
        items.cancel([0])
        #expect(held == 0)
    }

    @Test func `with a limit of zero, no value is held`() {
        var items = AnnouncedItems<Int, String, LoadSubscription>(limit: 0)
        announce("a", at: 0, &items)
        #expect(held == 0)
    }
}
