// This source file is part of the Optimist open source project, under the MIT licence.

import Testing

@_spi(Internals) @testable import OptimistServing
@testable import OptimistWire

/// Rows that are created, deleted and created again.
@Suite(.timeLimit(.minutes(20)))
struct LivesTests {
    @Test func `updating a deleted or unknown row is notFound`() {
        var store = ModelStore()
        #expect(store.push([.update(.todo, ["done": true], at: .at(0))])[0].error?.type == "notFound")
        #expect(store.push([.update(.todo, ["done": true])])[0].error?.type == "notFound")
        store.push([.create(.todo, ["content": "a"], at: .at(0))])
        store.push([.destroy(.todo, at: .at(1), generation: 2)])
        let late = store.push([.update(.todo, ["done": true], at: .at(2))])[0]
        #expect(late.error?.type == "notFound")
        #expect(late.error?.current == nil)
        #expect(store.push([.update(.todo, ["done": true])])[0].error?.type == "notFound")
        #expect(store.seq == 2)
    }

    @Test func `L4: an update never begins a life, because columns it omits would be lost`() {
        var store = ModelStore()
        store.push([.create(.todo, ["content": "first"], at: .at(0))])
        let late = store.push([.update(.todo, ["priority": 9], at: .at(9), generation: 3)])[0]
        #expect(late.error?.type == "lifeUnknown")
        #expect(store.value(.todo, "content") == "first")
        #expect(store.seq == 1)
    }

    @Test func `M2: a creation in an ended life is answered with the tombstone`() {
        var store = ModelStore()
        store.push([.destroy(.todo, at: .at(1), generation: 2)])
        #expect(
            store.push([.create(.todo, ["content": "late"], at: .at(9))])[0].error
                == SetError(
                    "notFound", "The row was deleted.", deletion: Tombstone(generation: 2, clock: .at(1))))
        #expect(store.rows[.todo]?.row == MergeRow(generation: 2, deletion: .at(1)))
    }

    @Test func `M2: a write to an ended life is answered with the current life`() {
        var store = ModelStore()
        store.push([.create(.todo, ["content": "second"], at: .at(1), generation: 3)])
        let late = store.push([.update(.todo, ["content": "first"], at: .at(9), generation: 1)])[0]
        #expect(late.won?.generation == 3)
        #expect(late.won?.values == ["content": "second"])
        #expect(store.value(.todo, "content") == "second")
    }

    @Test func `M2: a new life shows nothing of the old one`() {
        var store = ModelStore()
        store.push([.create(.todo, ["content": "a", "priority": 9], at: .at(0))])
        store.push([.destroy(.todo, at: .at(1), generation: 2)])
        #expect(store.rows[.todo]?.row.cells == [:])
        #expect(store.push([.create(.todo, ["content": "b"], at: .at(-5), generation: 3)])[0].isAcceptedAsSent)
        #expect(store.value(.todo, "priority") == nil)
        #expect(store.value(.todo, "content") == "b")
    }

    @Test func `deleting an unknown row succeeds with a generation, and is notFound without one`() {
        var store = ModelStore()
        #expect(store.push([.destroy(.todo)])[0].error?.type == "notFound")
        #expect(store.seq == 0)
        #expect(store.push([.destroy(.todo, at: .at(0), generation: 2)])[0].isAcceptedAsSent)
        #expect(store.push([.destroy(.todo, at: .at(0), generation: 2)])[0].isAcceptedAsSent)
        #expect(store.seq == 1)
    }

    @Test func `a client without generations begins the next life when it creates a deleted row`() {
        var store = ModelStore()
        store.push([.create(.todo, ["content": "a"])])
        store.push([.destroy(.todo)])
        #expect(store.rows[.todo]?.row.generation == 2)
        store.push([.create(.todo, ["content": "b"])])
        #expect(store.rows[.todo]?.row.generation == 3)
    }

    @Test func `the transaction where a life began is kept through its changes and its deletion`() {
        var store = ModelStore()
        store.push([.create(.todo, ["content": "a"])])
        store.push([.update(.todo, ["content": "b"])])
        #expect(store.rows[.todo]?.bornSeq == 1)
        store.push([.destroy(.todo)])
        #expect(store.rows[.todo]?.bornSeq == 1)
        store.push([.create(.todo, ["content": "c"])])
        #expect(store.rows[.todo]?.bornSeq == 4)
    }

    @Test(arguments: [2, 1 << 30 + 1])
    func `a generation that a living row cannot have is invalid`(generation: Int) {
        var store = ModelStore()
        let verdict = store.push([.create(.todo, ["content": "a"], at: .at(0), generation: generation)])[0]
        #expect(verdict.error?.type == "invalidProperties")
        #expect(verdict.error?.properties == ["@gen"])
        #expect(store.push([.destroy(.todo, at: .at(0), generation: 3)])[0].error?.properties == ["@gen"])
    }

    // MARK: - Lives that continue

    /// A row of a type without `editWins` whose third generation continues its first, as when it has moved.
    private static func continued() -> RowEvaluation {
        let row = MergeRow(generation: 3, cells: ["content": Cell("a", .at(0))])
        let stored = StoredRow(
            RowChange(
                key: .todo, row: row, memory: RowMemory(firstLife: 1), bornSeq: nil, droppedEntries: [],
                addedEntries: []), seq: 1, ordinal: 0)
        let type = TypeSchema(columns: ["content": ColumnSchema(.string), "done": ColumnSchema(.bool)])
        return RowEvaluation(key: .todo, type: type, stored: stored)
    }

    private var clock: ServerClock { ServerClock(milliseconds: 1_800_000_000_000) }

    @Test func `M2: an edit of a continued life edits the present one, in any type`() {
        var (row, clock) = (Self.continued(), clock)
        let edit = RowOperation.update(.todo, ["done": true], at: .at(1), generation: 1)
        guard case .merged(life: 1, let lost) = row.apply(edit.action, clock: &clock) else {
            Issue.record("the edit must be merged")
            return
        }
        #expect(lost.isEmpty && row.row.generation == 3)
        #expect(row.row.cells.mapValues(\.value) == ["content": "a", "done": true])
    }

    @Test func `M2: a delete of a continued life ends the present one, and beats later edits`() {
        var (row, clock) = (Self.continued(), clock)
        let edit = RowOperation.update(.todo, ["done": true], at: .at(9), generation: 1)
        let delete = RowOperation.destroy(.todo, at: .at(1), generation: 2)
        _ = row.apply(edit.action, clock: &clock)
        guard case .destroyed = row.apply(delete.action, clock: &clock) else {
            Issue.record("the row must be deleted")
            return
        }
        #expect(row.row == MergeRow(generation: 4, deletion: .at(1)))
        guard case .gone = row.apply(edit.action, clock: &clock) else {
            Issue.record("the row must stay deleted")
            return
        }
        #expect(row.row.generation == 4 && row.memory.firstLife == nil)
    }
}
