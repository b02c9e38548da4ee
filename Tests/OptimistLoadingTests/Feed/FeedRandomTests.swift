// This source file is part of the Optimist open source project, under the MIT licence.

import OptimistCore
import TestForm
import Testing

@testable import OptimistLoading

/// The machine alone, without tasks or time, under random events.
@Suite(.timeLimit(.minutes(20)))
struct FeedRandomTests {
    private typealias Machine = FeedMachine<Kind, String, Photo, Int>

    /// The open requests, and the news an observer has received.
    private struct World {
        var machine = Machine(
            sections: [.chosen, .recommended], filter: "a",
            limits: FeedLimits(ahead: 3, behind: 1, nextPage: 4, refreshPages: 3), archiveLimit: nil)
        var random: SplitMix64
        var questions: [(number: Int, request: FeedRequest<Kind, String>)] = []
        var wishes: [(id: Int, number: Int)] = []
        /// The server's changing items, by section and filter.
        var server: [String: [Int]] = [:]
        /// How often each item got a new description.
        var versions: [Int: Int] = [:]
        var shown: [[Int]] = []
        var seen: [FeedSection<Kind, Photo>] = []

        init(seed: UInt64) { random = SplitMix64(seed: seed) }

        mutating func page(_ request: FeedRequest<Kind, String>) -> FeedPage<Photo> {
            let all = items(of: request)
            let start = min(request.cursor.flatMap { Int($0) } ?? 0, all.count)
            let end = min(start + 4, all.count)
            return FeedPage(all[start..<end].map { photo($0) }, next: end < all.count ? "\(end)" : nil)
        }

        func photo(_ id: Int) -> Photo { Photo(id: id, title: "\(versions[id, default: 0])") }

        /// One filter's items are even, the other's odd.
        mutating func items(of request: FeedRequest<Kind, String>) -> [Int] {
            let name = "\(request.section) \(request.filter)"
            let odd = request.filter == "a" ? 0 : 1
            let items = server[name] ?? (0..<20).map { $0 * 2 + odd }.shuffled(using: &random)
            server[name] = items
            return items
        }

        mutating func change() {
            guard let name = server.keys.sorted().randomElement(using: &random), var items = server[name] else {
                return
            }
            switch Int.random(in: 0..<3, using: &random) {
            case 0: items.removeAll { _ in Int.random(in: 0..<8, using: &random) == 0 }
            case 1:
                // Some items move to the top, together or separately, as commented items do; one moves down.
                let count = min(Int.random(in: 1...5, using: &random), items.count)
                let first = Int.random(in: 0...(items.count - count), using: &random)
                let moved =
                    Bool.random(using: &random)
                    ? Array(items[first..<first + count]) : Array(items.shuffled(using: &random).prefix(count))
                items = moved + items.filter { !moved.contains($0) }
                if Bool.random(using: &random), !items.isEmpty { items.append(items.removeFirst()) }
            default: for id in items where Int.random(in: 0..<4, using: &random) == 0 { versions[id, default: 0] += 1 }
            }
            let odd = name.hasSuffix("a") ? 0 : 1
            let new = Int.random(in: 20..<1_000, using: &random) * 2 + odd
            if !items.contains(new) { items.insert(new, at: 0) }
            server[name] = items
        }
    }

    @Test(arguments: 1...TestForm.of(short: 40, full: 200) as ClosedRange<UInt64>)
    func
        `F4 F5 F6 F7 F8 in any order of answers, no item is duplicated or of another filter, and changes are right`(
            seed: UInt64
        ) throws
    {
        var world = World(seed: seed)
        world.machine.refresh()
        for _ in 0..<300 {
            step(&world)
            carryOut(&world)
            try check(&world)
        }
        // At the end every request is answered, and a refresh shows the server's items.
        for _ in 0..<200 where !world.questions.isEmpty { answer(&world, isLate: false) }
        world.machine.show([])
        world.machine.refresh()
        carryOut(&world)
        while !world.questions.isEmpty { answer(&world, isLate: false) }
        for section in [Kind.chosen, .recommended] {
            // Requests every page that the newest pages lead to.
            for _ in 0..<100 where world.machine.isUnfinished(section) {
                world.machine.next(in: section)
                carryOut(&world)
                while !world.questions.isEmpty { answer(&world, isLate: false) }
            }
        }
        try check(&world)
        let sections = world.machine.shownSections()
        let filter = world.machine.filter
        let chosen = world.items(of: FeedRequest(section: .chosen, filter: filter))
        let recommended = world.items(of: FeedRequest(section: .recommended, filter: filter))
        #expect(sections[0].items == chosen.map { world.photo($0) })
        #expect(sections[1].items == recommended.filter { !chosen.contains($0) }.map { world.photo($0) })
        for section in sections {
            #expect("\(section.state)" == "ended")
            #expect(!section.isStale)
        }
        #expect(world.machine.wishes.isEmpty)
    }

    private func step(_ world: inout World) {
        let all = world.machine.shownSections().flatMap(\.items).map(\.id)
        switch Int.random(in: 0..<16, using: &world.random) {
        case 0...4: answer(&world, isLate: true)
        case 5...8:
            let first = Int.random(in: 0...max(all.count - 4, 0), using: &world.random)
            world.machine.show(Array(all.dropFirst(first).prefix(4)) + [-1])
        case 9: world.machine.next(in: Bool.random(using: &world.random) ? .chosen : .recommended)
        case 10: world.machine.refresh()
        case 11: world.machine.setFilter(Bool.random(using: &world.random) ? "a" : "b")
        case 12: world.machine.retryAll()
        case 13: world.change()
        default:
            guard let wish = world.wishes.randomElement(using: &world.random) else { return }
            let event: LoadEvent<Int> =
                switch Int.random(in: 0..<4, using: &world.random) {
                case 0: .failure(Broken())
                case 1: .partial(wish.id)
                case 2: .value(wish.id, .memory)
                default: .value(wish.id, .source)
                }
            world.machine.received(
                event, of: wish.id, number: wish.number, isExpired: Bool.random(using: &world.random))
        }
    }

    /// - Parameter isLate: If true, a random request is answered and may fail. If false, the oldest request is
    ///   answered.
    private func answer(_ world: inout World, isLate: Bool) {
        guard !world.questions.isEmpty else { return }
        let index = isLate ? Int.random(in: 0..<world.questions.count, using: &world.random) : 0
        let (number, request) = world.questions.remove(at: index)
        let hasFailed = isLate && Int.random(in: 0..<5, using: &world.random) == 0
        let answer: Pages.Answer = hasFailed ? .failure(Broken()) : .success(world.page(request))
        world.machine.answered(answer, toRequest: number)
        carryOut(&world)
    }

    private func carryOut(_ world: inout World) {
        for action in world.machine.takeActions() {
            switch action {
            case .ask(let request, let number): world.questions.append((number, request))
            case .want(let item, _, let number, _): world.wishes.append((item.id, number))
            default: break
            }
        }
        if world.wishes.count > 60 { world.wishes.removeFirst(30) }
    }

    private func check(_ world: inout World) throws {
        let sections = world.machine.shownSections()
        let ids = sections.map { $0.items.map(\.id) }
        let all = ids.flatMap { $0 }
        #expect(all.count == Set(all).count, "no item appears twice")
        let odd = world.machine.filter == "a" ? 0 : 1
        #expect(all.allSatisfy { $0 % 2 == odd }, "no item is from a former filter")
        #expect(world.machine.requests.count <= 2, "one page at a time in each section")
        #expect(world.machine.wishes.count <= 4 + 3 + 1)
        #expect(Set(world.machine.phases.keys).isSubset(of: world.machine.wishes.keys))
        for (id, phase) in world.machine.phases { #expect(phase.value == nil || phase.value == id) }

        // An observer that applies the news has the same lists.
        let news = world.machine.takeNews()
        let changes = FeedChanges(from: world.seen, to: sections, updated: news.updated, states: [])
        let before = Set(world.shown.joined())
        #expect(changes.inserted == Set(all).subtracting(before))
        #expect(changes.removed == before.subtracting(all))
        let still = before.intersection(all).subtracting(changes.moved)
        for (section, items) in ids.enumerated() {
            let former = world.shown.isEmpty ? [] : world.shown[section]
            #expect(former.filter(still.contains) == items.filter(still.contains))
        }
        let formers = Dictionary(world.seen.joinedItems.map { ($0.id, $0) }, uniquingKeysWith: { $1 })
        let others = sections.joinedItems.filter { item in formers[item.id].map { $0 != item } ?? false }
        #expect(changes.updated.isSuperset(of: others.map(\.id)), "items with a new description are updated")
        #expect(changes.updated.isSubset(of: before.intersection(all)))
        (world.shown, world.seen) = (ids, sections)
    }
}

extension FeedMachine where Section == Kind {
    fileprivate func isUnfinished(_ section: Kind) -> Bool {
        guard let index = sections.firstIndex(of: section) else { return false }
        if case .more = layout.pages[index].state { return true } else { return false }
    }
}

extension [FeedSection<Kind, Photo>] {
    fileprivate var joinedItems: [Photo] { flatMap(\.items) }
}
