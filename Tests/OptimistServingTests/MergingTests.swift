// This source file is part of the Optimist open source project, under the MIT licence.

import OptimistCore
@_spi(Internals) import OptimistWire
import Testing

@_spi(Internals) @testable import OptimistServing

@Suite(.timeLimit(.minutes(20)))
struct MergingTests {
    /// Versions of one row from three devices: edits, deletions and new lives, some with equal clocks.
    static func versions(using random: inout SplitMix64) -> [RowOperation] {
        let devices = ["deviceAA", "deviceBB", "deviceCC"]
        return (0..<12).map { _ in
            let clock = WriteClock.at(
                Int64.random(in: 0...6, using: &random), devices[Int.random(in: 0..<3, using: &random)])
            let priority = JSON.int(Int64.random(in: 0...2, using: &random))
            switch Int.random(in: 0...6, using: &random) {
            case 0: return .destroy(.todo, at: clock, generation: 2)
            case 1:
                return .create(.todo, ["content": "again", "priority": priority], at: clock, generation: 3)
            case 2: return .update(.todo, ["done": .bool(.random(using: &random))], at: clock)
            case 3: return .update(.todo, ["priority": priority, "done": true], at: clock)
            default: return .update(.todo, ["content": .string("edit \(priority)")], at: clock)
            }
        }
    }

    @Test(arguments: 1...200)
    func `M1 M2: versions of a row merge into the same row, in any order of arrival`(seed: UInt64) {
        var random = SplitMix64(seed: seed)
        let versions = Self.versions(using: &random)
        let results = (0..<6).map { _ in
            var store = ModelStore()
            store.push([.create(.todo, ["content": "first", "priority": 1], at: .at(-10))])
            for version in versions.shuffled(using: &random) { store.push([version]) }
            return store.rows[.todo]?.row
        }
        #expect(results.allSatisfy { $0 == results[0] })
        var merged = MergeRow(generation: 1)
        merged.cells = ["content": Cell("first", .at(-10)), "priority": Cell(1, .at(-10))]
        for version in versions { merged.merge(version.row) }
        if !merged.isAlive { merged.cells = [:] }
        #expect(results[0] == merged)
    }

    @Test(arguments: 1...100)
    func `S3: repeating pushes, in any order, changes nothing`(seed: UInt64) {
        var random = SplitMix64(seed: seed)
        var store = ModelStore()
        var pushes = [[RowOperation.create(.todo, ["content": "first"], at: .at(-10))]]
        pushes += Self.versions(using: &random).map { [$0] }
        for push in pushes { store.push(push) }
        let (rows, seq) = (store.rows.mapValues(\.row), store.seq)
        for push in (pushes + pushes).shuffled(using: &random) { store.push(push) }
        #expect(store.rows.mapValues(\.row) == rows)
        #expect(store.seq == seq)
    }

    @Test func `edits of different columns by two devices are both kept, in either order`() {
        for isReversed in [false, true] {
            var store = ModelStore()
            store.push([.create(.todo, ["content": "a"], at: .at(0))])
            let edits: [RowOperation] = [
                .update(.todo, ["content": "b"], at: .at(1, "deviceAA")),
                .update(.todo, ["done": true], at: .at(2, "deviceBB")),
            ]
            for edit in isReversed ? edits.reversed() : edits {
                #expect(store.push([edit])[0].isAcceptedAsSent)
            }
            #expect(store.value(.todo, "content") == "b")
            #expect(store.value(.todo, "done") == true)
        }
    }

    @Test func `if the server's value wins, the answer holds it with its clock`() {
        var store = ModelStore()
        store.push([.create(.todo, ["content": "new", "done": false], at: .at(5))])
        let verdict = store.push([.update(.todo, ["content": "old", "done": true], at: .at(3))])[0]
        #expect(
            verdict.won
                == RowPatch(
                    generation: 1, clocks: ColumnClocks(common: .at(5)), values: ["content": "new", "done": false]))
        #expect(store.seq == 1)
    }

    @Test func `M5: the same value on both sides is no conflict`() {
        var store = ModelStore()
        store.push([.create(.todo, ["content": "same"], at: .at(5))])
        #expect(store.push([.update(.todo, ["content": "same"], at: .at(3))])[0].isAcceptedAsSent)
    }

    @Test func `creating an existing row merges the two`() {
        var store = ModelStore()
        store.push([.create(.todo, ["content": "a", "priority": 1], at: .at(0))])
        #expect(store.push([.create(.todo, ["content": "b", "done": true], at: .at(1))])[0].isAcceptedAsSent)
        #expect(store.value(.todo, "content") == "b")
        #expect(store.value(.todo, "priority") == 1)
    }

    @Test func `M4: a clock more than 60 s ahead is replaced by the server's, and a repeated push changes nothing`() {
        var store = ModelStore()
        store.push([.create(.todo, ["content": "a", "done": false], at: .at(0))])
        let ahead = RowOperation.update(.todo, ["content": "b", "done": true], at: .at(60_001, "deviceBB"))
        let verdict = store.push([ahead])[0]
        #expect(verdict.won?.values == ["content": "b", "done": true])
        let clock = verdict.won?.clocks?["content"]
        #expect(clock?.device == "deviceBB")
        #expect(clock?.stamp.milliseconds == store.milliseconds)
        let seq = store.seq
        #expect(store.push([ahead])[0].won == verdict.won)
        #expect(store.seq == seq)
        #expect(store.push([.update(.todo, ["content": "c"], at: .at(60_000))])[0].isAcceptedAsSent)
    }

    @Test func `S3 M4 a repeated write whose clock was ahead does not count as a new write`() {
        var store = ModelStore()
        store.push([.create(.todo, ["content": "a"], at: .at(0))])
        let ahead = RowOperation.update(.todo, ["content": "b"], at: .at(61_000, "deviceBB"))
        store.push([ahead])
        store.milliseconds += 1000
        store.push([.update(.todo, ["content": "c"], at: .at(1000, "deviceCC"))])
        let seq = store.seq
        #expect(store.push([ahead])[0].won?.values == ["content": "c"])
        store.milliseconds += 3_600_000
        #expect(store.push([ahead])[0].won?.values == ["content": "c"])
        #expect(store.seq == seq)
        // The device's next write counts as new, whatever its clock.
        let next = RowOperation.update(.todo, ["content": "d"], at: .at(9_000_000, "deviceBB"))
        #expect(store.push([next])[0].won?.values == ["content": "d"])
        #expect(store.push([next, ahead])[1].won?.values == ["content": "d"])
    }

    @Test func `M4 a device that was a year ahead and corrected its clock wins with its next edit`() {
        var store = ModelStore()
        store.push([.create(.todo, ["content": "a"], at: .at(0))])
        store.push([.update(.todo, ["content": "b"], at: .at(31_536_000_000, "deviceBB"))])
        store.milliseconds += 5_000
        #expect(store.push([.update(.todo, ["content": "c"], at: .at(5_000, "deviceBB"))])[0].won == nil)
        #expect(store.value(.todo, "content") == "c")
        let late = RowOperation.update(.todo, ["content": "before b"], at: .at(31_535_000_000, "deviceBB"))
        #expect(store.push([late])[0].won?.values == ["content": "c"])
    }

    /// The device does not know the replacement yet.
    @Test(arguments: [0, 1, 5_000])
    func `M4 a device's later write wins, even with a clock before the replacement of the earlier write's clock`(
        behind: Int64
    ) throws {
        var store = ModelStore()
        store.push([.create(.todo, ["content": "a"], at: .at(-10_000))])
        let ahead = RowOperation.update(.todo, ["content": "b"], at: .at(31_536_000_000, "deviceBB"))
        let replacement = try #require(store.push([ahead], from: "deviceBB")[0].won?.clocks?["content"])
        let clock = WriteClock(stamp: Stamp(rawValue: replacement.stamp.rawValue - behind), device: "deviceBB")
        let later = RowOperation.update(.todo, ["content": "c"], at: clock)
        let told = try #require(store.push([later], from: "deviceBB")[0].won)
        #expect(try #require(told.clocks?["content"]) > replacement)
        #expect(store.value(.todo, "content") == "c")
        let seq = store.seq
        store.push([later], from: "deviceBB")
        #expect(store.push([ahead], from: "deviceBB")[0].won?.values == ["content": "c"])
        #expect(store.seq == seq)
        #expect(store.value(.todo, "content") == "c")
    }

    @Test
    func `M4 each later write of a device wins, although the device received none of the replacements of its clocks`()
        throws
    {
        var store = ModelStore()
        store.push([.create(.todo, ["content": "a"], at: .at(-10_000))])
        func push(_ content: JSON, at clock: WriteClock) -> WriteClock? {
            store.push([.update(.todo, ["content": content], at: clock)], from: "deviceBB")
            #expect(store.value(.todo, "content") == content)
            return store.row(.todo)?.cells["content"]?.clock
        }
        _ = push("b", at: .at(31_536_000_000, "deviceBB"))
        let second = try #require(push("c", at: .at(-5_000, "deviceBB")))
        _ = push("d", at: .at(-4_000, "deviceBB"))
        _ = push("b", at: second)
        let seq = store.seq
        _ = push("b", at: second)
        #expect(store.seq == seq)
    }

    @Test func `S3 M4 a repeated delete whose clock was ahead does not count as a new delete`() {
        var store = ModelStore()
        store.schema.types["Todo"]?.editWins = true
        store.push([.create(.todo, ["content": "a"], at: .at(0))])
        let ahead = RowOperation.destroy(.todo, at: .at(61_000, "deviceBB"), generation: 2)
        store.push([ahead])
        store.milliseconds += 1000
        store.push([.update(.todo, ["done": true], at: .at(1000))])
        #expect(store.row(.todo)?.generation == 3)
        store.milliseconds += 1000
        store.push([ahead])
        #expect(store.row(.todo)?.generation == 3)
    }

    // MARK: - A server whose own clock was wrong

    private static let fiveHours: Int64 = 5 * 3_600_000

    /// A store that took a row while its own clock was five hours ahead.
    private func afterLeap(_ operation: RowOperation, editWins: Bool = false) -> ModelStore {
        var store = ModelStore()
        store.schema.types["Todo"]?.editWins = editWins
        store.push([.create(.todo, ["content": "a", "done": false], at: .at(0))])
        store.milliseconds += Self.fiveHours
        #expect(store.push([operation])[0].won == nil)
        store.milliseconds -= Self.fiveHours - 10_000
        return store
    }

    @Test func `M4 a row stamped while the server's clock was ahead loses to every later correct edit`() {
        let leapt = RowOperation.update(.todo, ["content": "b", "done": true], at: .at(Self.fiveHours, "deviceBB"))
        var store = afterLeap(leapt)
        #expect(store.push([.update(.todo, ["content": "c"], at: .at(9_000, "deviceAA"))])[0].isAcceptedAsSent)
        #expect(store.value(.todo, "content") == "c" && store.value(.todo, "done") == true)
        #expect(store.push([leapt])[0].won?.values["content"] == "c", "the repetition is not a new write")
        #expect(store.value(.todo, "content") == "c")
        #expect(store.push([.update(.todo, ["done": false], at: .at(9_500))])[0].isAcceptedAsSent)
        let next = RowOperation.update(.todo, ["content": "d"], at: .at(Self.fiveHours + 1, "deviceBB"))
        #expect(store.push([next])[0].won?.values["content"] == "d", "the device's next write is new")
    }

    @Test func `M4 a replacement made while the server's clock was ahead does not move later writes ahead`() {
        var store = ModelStore()
        store.push([.create(.todo, ["content": "a"], at: .at(0))])
        store.milliseconds += Self.fiveHours
        store.push([.update(.todo, ["content": "b"], at: .at(31_536_000_000, "deviceBB"))], from: "deviceBB")
        store.milliseconds -= Self.fiveHours - 10_000
        store.push([.update(.todo, ["content": "c"], at: .at(9_000, "deviceBB"))], from: "deviceBB")
        #expect(store.row(.todo)?.cells["content"]?.clock == .at(9_000, "deviceBB"))
        store.push([.update(.todo, ["content": "d"], at: .at(9_500, "deviceAA"))], from: "deviceAA")
        #expect(store.value(.todo, "content") == "d")
    }

    @Test func `M4 a write without a clock gets the corrected time, even after a clock that is ahead`() {
        var store = afterLeap(.update(.todo, ["content": "b"], at: .at(Self.fiveHours, "deviceBB")))
        store.push([.create(.todo, ["content": "c"], at: nil)])
        #expect(store.value(.todo, "content") == "c")
        let stamp = store.row(.todo)?.cells["content"]?.clock.stamp.milliseconds
        #expect(stamp == store.milliseconds)
    }

    @Test func `M2 M4 a deletion stamped while the server's clock was ahead loses to a correct edit`() {
        var store = afterLeap(.destroy(.todo, at: .at(Self.fiveHours, "deviceBB"), generation: 2), editWins: true)
        #expect(store.row(.todo)?.isAlive == false)
        store.push([.update(.todo, ["done": true], at: .at(9_000))])
        #expect(store.row(.todo)?.isAlive == true)
    }

    @Test func `a write without a clock gets a stamp later than every stored one`() {
        var store = ModelStore()
        store.push([.create(.todo, ["content": "a"], at: .at(59_000))])
        #expect(store.push([.update(.todo, ["content": "b"])])[0].isAcceptedAsSent)
        #expect(store.value(.todo, "content") == "b")
        #expect(store.rows[.todo]?.row.cells["content"]?.clock.device == ServerClock.device)
        let seq = store.seq
        #expect(store.push([.update(.todo, ["content": "b"])])[0].isAcceptedAsSent)
        #expect(store.seq == seq)
    }
}

extension RowOperation {
    /// The version of the row that the operation describes.
    fileprivate var row: MergeRow {
        switch action {
        case .create(let patch), .update(let patch):
            var row = MergeRow(generation: patch.generation ?? 1)
            for (column, value) in patch.values {
                if let clock = patch.clocks?[column] { row.cells[column] = Cell(value, clock) }
            }
            return row
        case .destroy(let tombstone):
            return MergeRow(generation: tombstone?.generation ?? 2, deletion: tombstone?.clock)
        }
    }
}
