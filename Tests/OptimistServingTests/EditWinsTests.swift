// This source file is part of the Optimist open source project, under the MIT licence.

import OptimistCore
import Testing

@_spi(Internals) @testable import OptimistServing
@_spi(Internals) @testable import OptimistWire

/// Types with `editWins`: an edit later than the deletion revives the row.
@Suite(.timeLimit(.minutes(20)))
struct EditWinsTests {
    private static func store() -> ModelStore {
        var store = ModelStore()
        store.schema.types["Todo"]?.editWins = true
        store.schema.types["Todo"]?.columns["likes"] = ColumnSchema(.counter)
        return store
    }

    private static let creation = RowOperation.create(.todo, ["content": "a", "priority": 1], at: .at(0))
    private static func delete(at milliseconds: Int64) -> RowOperation {
        .destroy(.todo, at: .at(milliseconds, "deviceBB"), generation: 2)
    }
    private static func edit(at milliseconds: Int64) -> RowOperation {
        .update(.todo, ["done": true], at: .at(milliseconds))
    }

    @Test(arguments: [true, false])
    func `M2 editWins: an edit later than the delete revives the row as the next life, in either order`(editFirst: Bool)
    {
        var store = Self.store()
        store.push([Self.creation])
        let edit = Self.edit(at: 5)
        if editFirst { #expect(store.push([edit])[0].isAcceptedAsSent) }
        #expect(store.push([Self.delete(at: 3)])[0].isAcceptedAsSent)
        if !editFirst {
            let won = store.push([edit])[0].won
            #expect(won?.generation == 3)
            #expect(won?.values == ["content": "a", "done": true, "priority": 1])
        }
        #expect(store.row(.todo)?.generation == 3)
        #expect(store.row(.todo)?.deletion == nil)
        #expect(store.row(.todo)?.cells.mapValues(\.value) == ["content": "a", "priority": 1, "done": true])
        let seq = store.seq
        store.push([edit])
        store.push([Self.delete(at: 3)])
        #expect(store.seq == seq)
    }

    @Test(arguments: [true, false])
    func `M2 editWins: a delete later than every edit wins, in either order`(editFirst: Bool) {
        var store = Self.store()
        store.push([Self.creation])
        let operations = [Self.edit(at: 3), Self.delete(at: 5)]
        for operation in editFirst ? operations : operations.reversed() { store.push([operation]) }
        #expect(store.row(.todo)?.isAlive == false)
        #expect(store.push([Self.edit(at: 3)])[0].isGone)
        #expect(store.push([.update(.todo, ["likes": ["@total": 1]], at: .at(7))])[0].won?.values["likes"] == 1)
        #expect(store.value(.todo, "done") == true)
    }

    @Test func `M2 L3: a gone verdict carries the tombstone, which a device can send to a restored server`() {
        var store = Self.store()
        store.push([Self.creation])
        var restored = store
        store.push([Self.delete(at: 3)])
        store.push([Self.delete(at: 4)])
        guard case .gone(let deletion?) = store.push([Self.edit(at: 1)])[0] else {
            Issue.record("the answer has no time of the deletion")
            return
        }
        #expect(deletion == Tombstone(generation: 2, clock: .at(4, "deviceBB")))
        #expect(store.push([.update(.todo, ["done": true], at: .at(2), generation: 1)])[0].error?.deletion == deletion)
        var other = restored
        let told = RowOperation(key: .todo, action: .destroy(deletion))
        for operation in [Self.edit(at: 5), told] { restored.push([operation]) }
        for operation in [told, Self.edit(at: 5)] { other.push([operation]) }
        #expect(restored.row(.todo) == other.row(.todo))
        #expect(restored.row(.todo)?.generation == 3, "the order of arrival does not matter")
    }

    /// Sent again by a device after a restore; the time of the deletion is unknown.
    private static let deletionWithoutClock = RowOperation.destroy(.todo, at: nil, generation: 2)

    @Test func `M2 L3 editWins: a deletion without a clock does not end a life that outlived the original deletion`() {
        var store = Self.store()
        store.push([Self.creation])
        store.push([Self.delete(at: 3)])
        store.push([Self.edit(at: 5)])
        #expect(store.row(.todo)?.generation == 3)
        #expect(store.push([Self.deletionWithoutClock])[0].isAcceptedAsSent)
        #expect(store.row(.todo)?.generation == 3)
    }

    @Test
    func `M2 L3 editWins: a deletion without a clock ends the current life, and a later edit still revives the row`() {
        var store = Self.store()
        store.push([Self.creation])
        store.milliseconds += 1000
        #expect(store.push([Self.deletionWithoutClock])[0].isAcceptedAsSent)
        #expect(store.row(.todo)?.isAlive == false)
        #expect(store.push([Self.creation])[0].isGone)
        #expect(store.push([Self.edit(at: 5)])[0].won?.generation == 3)
        // The device that deleted the row knows the time of the deletion.
        store.push([Self.delete(at: 7)])
        #expect(store.row(.todo)?.isAlive == false)
    }

    @Test func `M2 editWins: a partial edit does not revive a row the server never had`() {
        var store = Self.store()
        // The same holds if every missing column is optional.
        store.schema.types["Todo"]?.columns["content"] = ColumnSchema(.string)
        store.push([Self.delete(at: 3)])
        #expect(store.push([Self.edit(at: 2)])[0].isGone)
        #expect(store.push([Self.edit(at: 5)])[0].error?.type == "lifeUnknown")
        #expect(store.row(.todo)?.isAlive == false)
        let whole = RowOperation.create(.todo, ["content": "a", "done": true, "priority": 1], at: .at(5))
        #expect(store.push([whole])[0].won?.generation == 3)
        #expect(store.value(.todo, "done") == true)
    }

    @Test func `M2 editWins: a count revives a row whose only column is the counter`() {
        var store = ModelStore()
        store.schema.types["Todo"] = TypeSchema(columns: ["likes": ColumnSchema(.counter)], editWins: true)
        store.push([.create(.todo, [:], at: .at(0)), Self.delete(at: 3)])
        #expect(store.push([.update(.todo, ["likes": ["@total": 1]], at: .at(7))])[0].won?.values["likes"] == 1)
    }

    @Test func `M2 editWins: an edit revives a row that was created without values`() {
        var store = Self.store()
        store.schema.types["Todo"]?.columns["content"] = ColumnSchema(.string)
        store.push([.create(.todo, [:], at: .at(0))])
        store.push([Self.delete(at: 3)])
        #expect(store.push([Self.edit(at: 2)])[0].isGone)
        #expect(store.push([Self.edit(at: 5)])[0].won?.values == ["done": true])
        #expect(store.row(.todo)?.generation == 3)
    }

    @Test func `M2 editWins: a life that the app began shows no former values and ends with its own delete`() {
        var store = Self.store()
        store.push([Self.creation])
        store.push([Self.delete(at: 3)])
        store.push([.create(.todo, ["content": "b"], at: .at(4), generation: 3)])
        #expect(store.push([Self.edit(at: 9)])[0].won?.values == ["content": "b"])
        #expect(store.value(.todo, "done") == nil)
        store.push([.destroy(.todo, at: .at(6), generation: 4)])
        #expect(store.row(.todo)?.generation == 4)
    }

    @Test func `M2 editWins: an edit does not revive a row that was deleted with its parent`() {
        var store = Self.store()
        store.schema.types["Todo"]?.columns["listId"]?.onDelete = .cascade
        store.push([.create(.list, ["name": "l"], at: .at(0)), Self.creation])
        store.push([.update(.todo, ["listId": .string(RowKey.list.id)], at: .at(9))])
        store.push([.destroy(.list, at: .at(2), generation: 2)])
        #expect(store.row(.todo)?.isAlive == false)
        #expect(store.push([Self.edit(at: 12)])[0].isGone)
        let seq = store.seq
        #expect(store.push([Self.edit(at: 12)])[0].isGone)
        #expect(store.seq == seq)
        // An edit that clears the reference revives the row.
        #expect(store.push([.update(.todo, ["listId": .null], at: .at(15))])[0].won?.values["content"] == "a")
    }

    @Test func `a tombstone's hidden values are not served, and survive storing and reading`() throws {
        var store = Self.store()
        store.push([Self.creation, Self.delete(at: 3)])
        let stored = try #require(store.rows[.todo])
        let shown = try JSON(parsing: stored.content(id: RowKey.todo.id))
        #expect(shown.object?.members.map(\.key) == ["@gen", "@hlc", "@seq"])
        let read = StoredRow(
            content: stored.content(id: RowKey.todo.id), hidden: stored.hidden, seq: stored.seq,
            ordinal: stored.ordinal,
            bornSeq: stored.bornSeq)
        #expect(read?.row == stored.row && read?.memory == stored.memory)
        #expect(stored.row.cells.count == 2)
    }

    /// Edits of one life and its deletes, from several devices.
    @Test(arguments: 1...200)
    func `M1 M2 editWins: edits and deletes of one life result in the same row, in any order and if repeated`(
        seed: UInt64
    ) {
        var random = SplitMix64(seed: seed)
        let devices = ["deviceAA", "deviceBB", "deviceCC"]
        let versions = (0..<8).map { _ -> RowOperation in
            let clock = WriteClock.at(
                .random(in: 1...9, using: &random), devices[Int.random(in: 0..<3, using: &random)])
            switch Int.random(in: 0..<5, using: &random) {
            case 0: return .destroy(.todo, at: clock, generation: 2)
            case 1: return .update(.todo, ["likes": ["@total": .int(.random(in: 0...3, using: &random))]], at: clock)
            case 2: return .update(.todo, ["priority": .int(.random(in: 0...3, using: &random))], at: clock)
            default: return .update(.todo, ["content": .string("\(clock)")], at: clock)
            }
        }
        var results: [MergeRow] = []
        for _ in 0..<6 {
            var store = Self.store()
            store.push([Self.creation])
            for version in (versions + versions.prefix(4)).shuffled(using: &random) { store.push([version]) }
            let row = store.row(.todo) ?? MergeRow()
            results.append(MergeRow(generation: row.isAlive ? 1 : 2, cells: row.cells, counters: row.counters))
        }
        #expect(results.allSatisfy { $0 == results[0] })
    }
}
