// This source file is part of the Optimist open source project, under the MIT licence.

import OptimistCore
import Testing

@testable import OptimistLoading

@Suite(.timeLimit(.minutes(20)))
struct FeedChangesTests {
    private typealias Changes = FeedChanges<Int, Int>

    private func sections(_ lists: [[Int]], version: Int) -> [FeedSection<Int, Photo>] {
        lists.enumerated().map { number, ids in
            FeedSection(
                id: number, items: ids.map { Photo(id: $0) }, state: .more, isStale: false, version: version)
        }
    }

    private func changes(_ old: [[Int]], _ new: [[Int]]) -> Changes {
        Changes(from: sections(old, version: 1), to: sections(new, version: 2), updated: [], states: [])
    }

    @Test(arguments: 1...300 as ClosedRange<UInt64>)
    func `F6 removals, moves and inserts turn the old list into the new one and name no other items`(
        seed: UInt64
    ) {
        var random = SplitMix64(seed: seed)
        func draw() -> [[Int]] {
            let ids = Array(0..<12).shuffled(using: &random).prefix(Int.random(in: 0...12, using: &random))
            let cut = Int.random(in: 0...ids.count, using: &random)
            return [Array(ids[..<cut]), Array(ids[cut...])]
        }
        let (old, new) = (draw(), draw())
        let changes = changes(old, new)
        let (before, after) = (Set(old.joined()), Set(new.joined()))
        #expect(changes.inserted == after.subtracting(before))
        #expect(changes.removed == before.subtracting(after))
        let still = before.intersection(after).subtracting(changes.moved)
        for (old, new) in zip(old, new) {
            #expect(old.filter(still.contains) == new.filter(still.contains), "unmoved items keep their order")
        }
        // The number of moves is minimal: each section's longest common subsequence stays.
        let longest = zip(old, new).reduce(0) { $0 + common($1.0[...], $1.1[...]) }
        #expect(still.count == longest)
    }

    private func common(_ old: ArraySlice<Int>, _ new: ArraySlice<Int>) -> Int {
        var lengths = [Int](repeating: 0, count: new.count + 1)
        for item in old {
            var diagonal = 0
            for (index, other) in new.enumerated() {
                let above = lengths[index + 1]
                lengths[index + 1] = item == other ? diagonal + 1 : max(above, lengths[index])
                diagonal = above
            }
        }
        return lengths[new.count]
    }

    @Test func `a new observer receives every item as inserted, and an update of a new item is not reported`() {
        let all = Changes(from: [], to: sections([[1, 2], [3]], version: 1), updated: [1], states: [0])
        #expect(all.inserted == [1, 2, 3])
        #expect(all.updated == [])
        #expect(all.sections == [0])
        let same = Changes(
            from: sections([[1]], version: 1), to: sections([[1]], version: 1), updated: [1], states: [])
        #expect(same.changedIDs == [1])
        #expect(!same.isStructural)
    }

    @Test func `F3 a pacer emits immediately, then once per interval`() {
        var pacer = FramePacer(interval: .milliseconds(16))
        #expect(pacer.take(at: .zero) == nil)
        #expect(pacer.take(at: .milliseconds(1)) == .milliseconds(15))
        #expect(pacer.take(at: .milliseconds(17)) == nil)
        #expect(pacer.take(at: .milliseconds(32)) == .milliseconds(1))
        #expect(pacer.take(at: .milliseconds(49)) == nil)
    }
}
