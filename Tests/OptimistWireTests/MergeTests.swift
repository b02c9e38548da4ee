// This source file is part of the Optimist open source project, under the MIT licence.

import OptimistCore
import OptimistWire
import Testing

@Suite(.timeLimit(.minutes(20)))
struct MergeTests {
    private func version(using random: inout SplitMix64) -> MergeRow {
        func clock() -> WriteClock {
            WriteClock(
                stamp: Stamp(milliseconds: .random(in: 1...3, using: &random)),
                device: "D\(Int.random(in: 1...3, using: &random))")
        }
        let generation = Int.random(in: 1...4, using: &random)
        guard generation % 2 == 1 else { return MergeRow(generation: generation, deletion: clock()) }
        var cells: [String: Cell] = [:]
        for column in ["a", "b", "c"] where Bool.random(using: &random) {
            cells[column] = Cell(.int(.random(in: 0...2, using: &random)), clock())
        }
        return MergeRow(generation: generation, cells: cells)
    }

    @Test(arguments: 1...2000)
    func `M1 versions merge to the same row in any order, with repetitions`(seed: UInt64) {
        var random = SplitMix64(seed: seed)
        let versions = (0..<6).map { _ in version(using: &random) }
        var inOrder = MergeRow()
        for version in versions { inOrder.merge(version) }
        for _ in 0..<4 {
            var shuffled = MergeRow()
            for version in (versions + versions.prefix(3)).shuffled(using: &random) { shuffled.merge(version) }
            #expect(shuffled == inOrder)
        }
    }

    @Test(arguments: 1...500)
    func `M1 merging is associative: two servers that merge their rows agree`(seed: UInt64) {
        var random = SplitMix64(seed: seed)
        let (a, b, c) = (version(using: &random), version(using: &random), version(using: &random))
        var (left, right) = (a, b)
        left.merge(b)
        left.merge(c)
        right.merge(c)
        var all = a
        all.merge(right)
        #expect(left == all)
    }

    @Test(arguments: 1...500)
    func `S3 merging a version twice changes nothing the second time`(seed: UInt64) {
        var random = SplitMix64(seed: seed)
        var row = MergeRow()
        for _ in 0..<4 {
            let version = version(using: &random)
            row.merge(version)
            var again = row
            #expect(!again.merge(version).changedAnything)
            #expect(again == row)
        }
    }

    private let early = WriteClock(stamp: Stamp(milliseconds: 1), device: "A")
    private let late = WriteClock(stamp: Stamp(milliseconds: 2), device: "A")

    @Test func `M1 columns are merged independently`() {
        var row = MergeRow(generation: 1, cells: ["x": Cell("mine", late), "y": Cell("mine", early)])
        let outcome = row.merge(
            MergeRow(generation: 1, cells: ["x": Cell("theirs", early), "y": Cell("theirs", late)]))
        #expect(row.cells["x"]?.value == "mine")
        #expect(row.cells["y"]?.value == "theirs")
        #expect(outcome.taken == ["y"])
        #expect(outcome.refused == ["x"])
    }

    @Test func `M2 a delete beats an edit of the life it ends, whatever the clocks`() {
        var row = MergeRow(generation: 1, cells: ["x": Cell("old", early)])
        row.merge(MergeRow(generation: 2, deletion: early))
        row.merge(MergeRow(generation: 1, cells: ["x": Cell("edit", late)]))
        #expect(!row.isAlive)
    }

    @Test func `M2 a new life shows nothing of the old one`() {
        var row = MergeRow(generation: 1, cells: ["x": Cell("old", late), "y": Cell("old", late)])
        row.merge(MergeRow(generation: 3, cells: ["x": Cell("new", early)]))
        #expect(row.cells == ["x": Cell("new", early)])
    }

    @Test func `M5 the same value on both sides is no conflict`() {
        var row = MergeRow(generation: 1, cells: ["x": Cell("same", late)])
        #expect(row.merge(MergeRow(generation: 1, cells: ["x": Cell("same", early)])).refused.isEmpty)
    }
}
