// This source file is part of the Optimist open source project, under the MIT licence.

import Testing

@_spi(Internals) @testable import OptimistServing
@_spi(Internals) @testable import OptimistWire

/// The effects of deletes on referring rows, in any order of arrival.
@Suite(.timeLimit(.minutes(20)))
struct ReferenceTests {
    /// Lists of to-dos; a to-do may follow another.
    private static func store(_ onDelete: ColumnSchema.OnDelete?, after: ColumnSchema.OnDelete? = .cascade)
        -> ModelStore
    {
        var store = ModelStore()
        store.schema.types["Todo"]?.columns["listId"]?.onDelete = onDelete
        store.schema.types["Todo"]?.columns["after"] = ColumnSchema(.ref, target: "Todo", onDelete: after)
        return store
    }

    private static func child(_ number: Int, at clock: WriteClock = .at(1)) -> RowOperation {
        .create(.todo(number), ["content": "a", "listId": .string(RowKey.list.id)], at: clock)
    }

    private static let parent = RowOperation.create(.list, ["name": "l"], at: .at(0))
    private static let deletion = RowOperation.destroy(.list, at: .at(5), generation: 2)

    @Test(arguments: [true, false])
    func `M2 a cascade deletes earlier rows in the delete's transaction, and later ones when they arrive`(
        childFirst: Bool
    ) {
        var store = Self.store(.cascade)
        store.push([Self.parent])
        if childFirst { store.push([Self.child(1)]) }
        store.push([Self.deletion])
        let gone = RowVerdict.gone(Tombstone(generation: 2, clock: .at(5)))
        if !childFirst { #expect(store.push([Self.child(1)])[0] == gone) }
        #expect(store.row(.todo(1)) == MergeRow(generation: 2, deletion: .at(5)))
        #expect(store.rows[.todo(1)]?.seq == (childFirst ? store.rows[.list]?.seq : 3))
        let seq = store.seq
        #expect(store.push([Self.child(1)])[0] == gone)
        #expect(store.push([Self.deletion])[0].isAcceptedAsSent)
        #expect(store.seq == seq)
    }

    @Test(arguments: [ColumnSchema.OnDelete.cascade, .setNull, .restrict])
    func `V5 if a parent's next life is refused, its children wait instead of joining the former life`(
        onDelete: ColumnSchema.OnDelete
    ) {
        var store = Self.store(onDelete)
        store.push([Self.parent])
        store.push([Self.deletion])
        let refused = RowOperation.create(.list, ["name": 7], at: .at(6), generation: 3)
        let follower = RowOperation.create(.todo(2), ["content": "b", "after": .string(RowKey.todo(1).id)], at: .at(8))
        for operations in [
            [refused, Self.child(1, at: .at(7)), follower], [follower, Self.child(1, at: .at(7)), refused],
        ] {
            let verdicts = store.push(operations)
            #expect(verdicts.filter { $0.error?.type == "blocked" }.count == 2)
            #expect(store.row(.todo(1)) == nil && store.row(.todo(2)) == nil)
        }
        let next = RowOperation.create(.list, ["name": "l"], at: .at(6), generation: 3)
        let verdicts = store.push([follower, Self.child(1, at: .at(7)), next])
        #expect(verdicts.allSatisfy { $0.isAcceptedAsSent })
        #expect(store.row(.todo(1))?.isAlive == true)
    }

    @Test(arguments: [ColumnSchema.OnDelete.cascade, .setNull])
    func `M2 a delete that affects more rows than a transaction may is refused alone`(
        onDelete: ColumnSchema.OnDelete
    ) {
        var store = Self.store(onDelete)
        store.push([Self.parent] + (1...6).map { Self.child($0) })
        store.maxSpread = 5
        let verdicts = store.push([Self.deletion, .update(.todo(1), ["content": "b"], at: .at(9))])
        #expect(verdicts[0].error?.type == "tooLarge" && verdicts[1].isAcceptedAsSent)
        #expect(store.row(.list)?.isAlive == true)
        #expect(store.value(.todo(6), "listId")?.string == RowKey.list.id)
        store.maxSpread = 6
        #expect(store.push([Self.deletion])[0].isAcceptedAsSent)
    }

    @Test
    func `M2 cascade: deletion follows chains, cycles and references of a row to itself`() {
        var store = Self.store(.cascade)
        store.push([Self.parent, Self.child(1)])
        for number in 2...50 {
            store.push([
                .create(.todo(number), ["content": "a", "after": .string(RowKey.todo(number - 1).id)], at: .at(1))
            ])
        }
        store.push([
            .update(.todo(1), ["after": .string(RowKey.todo(50).id)], at: .at(2)),
            .update(.todo(7), ["after": .string(RowKey.todo(7).id)], at: .at(2)),
        ])
        #expect(store.push([Self.deletion])[0].isAcceptedAsSent)
        // The row that now refers to itself left the chain, together with the rows that follow it.
        let living = store.rows.filter(\.value.row.isAlive).keys
        #expect(Set(living) == Set((7...50).map { RowKey.todo($0) }))
        #expect(store.push([.destroy(.todo(7), at: .at(6), generation: 2)])[0].isAcceptedAsSent)
        #expect(store.rows.values.allSatisfy { !$0.row.isAlive })
        #expect(store.rows.values.filter { $0.seq == store.seq }.count == 44)
    }

    @Test(arguments: [true, false])
    func `M2 setNull: earlier and later references become null`(childFirst: Bool) {
        var store = Self.store(.setNull)
        store.push([Self.parent])
        if childFirst { store.push([Self.child(1)]) }
        store.push([Self.deletion])
        if !childFirst {
            let won = store.push([Self.child(1)])[0].won
            #expect(won?.values == ["listId": .null])
            #expect(won?.clocks?["listId"] == store.row(.todo(1))?.cells["listId"]?.clock)
        }
        #expect(store.value(.todo(1), "listId") == .null)
        #expect(store.value(.todo(1), "content") == "a")
        let seq = store.seq
        #expect(store.push([Self.child(1)])[0].won?.values == ["listId": .null])
        #expect(store.seq == seq)
    }

    @Test func `M2 restrict: a row that others refer to is deleted only after them, or in the same push`() {
        var store = Self.store(.restrict)
        store.push([Self.parent, Self.child(1)])
        let error = store.push([Self.deletion])[0].error
        #expect(error?.type == "forbidden" && error?.current?.values == ["name": "l"])
        #expect(store.row(.list)?.isAlive == true)
        let both = store.push([Self.deletion, .destroy(.todo(1), at: .at(5), generation: 2)])
        #expect(both.allSatisfy { $0.isAcceptedAsSent })
        let late = store.push([Self.child(2)])[0].error
        #expect(late?.type == "invalidProperties" && late?.properties == ["listId"])
    }

    @Test func `M2 a cascade that meets a restriction deletes no row`() {
        var store = Self.store(.cascade, after: .restrict)
        store.push([Self.parent, Self.child(1)])
        store.push([.create(.todo(2), ["content": "b", "after": .string(RowKey.todo(1).id)], at: .at(1))])
        let verdicts = store.push([Self.deletion, .update(.todo(2), ["done": true], at: .at(6))])
        #expect(verdicts[0].error?.type == "forbidden")
        #expect(verdicts[1].isAcceptedAsSent)
        #expect(store.rows.values.allSatisfy { $0.row.isAlive })
    }

    @Test func `without onDelete, a later reference to a deleted row is refused instead of blocked`() {
        var store = Self.store(nil)
        store.push([Self.parent, Self.child(1), Self.deletion])
        #expect(store.row(.todo(1)) == nil, "the rows arrived together")
        let error = store.push([Self.child(2)])[0].error
        #expect(error?.type == "invalidProperties" && error?.properties == ["listId"])
    }

    @Test func `S2 a delete affects rows of its own push, and cascaded rows do not fail their group`() {
        var store = Self.store(.cascade)
        store.push([Self.parent, Self.child(1)])
        let verdicts = store.push(
            [
                .update(.todo(1), ["done": true], at: .at(6)), Self.deletion, Self.child(2),
                .create(.todo(3), ["content": "c"], at: .at(6)),
            ], groups: [[.todo(1), .list, .todo(2), .todo(3)]])
        #expect(verdicts.map(\.isGone) == [true, false, true, false])
        #expect(verdicts[1].isAcceptedAsSent && verdicts[3].isAcceptedAsSent)
        #expect(store.rows.filter(\.value.row.isAlive).map(\.key) == [.todo(3)])
        #expect(Set(store.rows.values.map(\.seq)) == [2])
    }

    @Test func `S2 a failed group undoes the effects of its deletes`() {
        var store = Self.store(.cascade)
        store.push([Self.parent, Self.child(1)])
        let verdicts = store.push(
            [Self.deletion, .create(.todo(3), ["done": true], at: .at(6))], groups: [[.list, .todo(3)]])
        #expect(verdicts.map { $0.error?.type } == ["groupFailed", "invalidProperties"])
        #expect(store.seq == 1)
        #expect(store.row(.todo(1))?.isAlive == true)
    }

    @Test func `a chain of 2,000 rows below a missing row is processed quickly`() {
        var store = Self.store(.cascade)
        let chain = (1...2000).map { number in
            RowOperation.create(
                .todo(number), ["content": "x", "after": .string(RowKey.todo(number - 1).id)], at: .at(0))
        }
        let verdicts = store.push(chain)
        #expect(verdicts.allSatisfy { $0.error?.type == "blocked" })
        #expect(verdicts[1999].error?.blockedBy == [RowKey.todo(1999).description])
        #expect(
            store.push(chain + [.create(.todo(0), ["content": "root"], at: .at(0))]).allSatisfy { $0.isAcceptedAsSent })
        #expect(store.push([.destroy(.todo(0), at: .at(1), generation: 2)])[0].isAcceptedAsSent)
        #expect(store.rows.values.allSatisfy { !$0.row.isAlive })
    }
}
