// This source file is part of the Optimist open source project, under the MIT licence.

import TestForm
import Testing

@_spi(Internals) @testable import OptimistServing
@_spi(Internals) @testable import OptimistWire

@Suite(.timeLimit(.minutes(20)))
struct UniqueTests {
    private static func store(_ onCollision: UniqueIndex.OnCollision) -> ModelStore {
        var store = ModelStore()
        store.schema.types["List"]?.uniqueIndexes = [UniqueIndex(["name"], onCollision: onCollision)]
        store.schema.types["List"]?.columns["note"] = ColumnSchema(.string)
        store.schema.types["List"]?.columns["likes"] = ColumnSchema(.counter)
        return store
    }

    private static func list(_ number: Int, _ name: JSON, at clock: WriteClock = .at(0)) -> RowOperation {
        .create(.list(number), ["name": name], at: clock)
    }

    // MARK: - reject

    @Test func `M6 reject: the first commit keeps the value, and the second gets its owner's id`() {
        var store = Self.store(.reject)
        store.push([Self.list(1, "Trip")])
        let verdicts = store.push([Self.list(2, "Trip", at: .at(-9)), Self.list(3, "Home")])
        let error = verdicts[0].error
        #expect(error?.type == "uniqueViolation")
        #expect(error?.properties == ["name"])
        #expect(error?.winner == RowKey.list(1).id)
        #expect(verdicts[1].isAcceptedAsSent)
        store.push([Self.list(2, "Work")])
        let update = store.push([.update(.list(2), ["name": "Home"], at: .at(1))])[0].error
        #expect(update?.type == "uniqueViolation" && update?.current?.values == ["name": "Work"])
    }

    @Test func `M6 a value is free once its row is deleted, changed, or moved away in the same push`() {
        var store = Self.store(.reject)
        store.push([Self.list(1, "Trip"), Self.list(2, "Home")])
        store.push([.destroy(.list(1), at: .at(1), generation: 2)])
        #expect(store.push([Self.list(3, "Trip")])[0].isAcceptedAsSent)
        let moved = store.push([Self.list(4, "Home"), .update(.list(2), ["name": "House"], at: .at(2))])
        #expect(moved.allSatisfy { $0.isAcceptedAsSent })
        // The deleted row cannot return with its old name.
        let again = store.push([.create(.list(1), ["name": "Trip"], at: .at(3), generation: 3)])[0]
        #expect(again.error?.type == "uniqueViolation")
    }

    @Test func `M6 rows that swap values in one push are applied together, with or without a group`() {
        for isGroup in [true, false] {
            var store = Self.store(.reject)
            store.push([Self.list(1, "a"), Self.list(2, "b"), Self.list(3, "c")])
            let verdicts = store.push(
                [
                    .update(.list(1), ["name": "b"], at: .at(1)), .update(.list(2), ["name": "c"], at: .at(1)),
                    .update(.list(3), ["name": "a"], at: .at(1)),
                ], groups: isGroup ? [[.list(1), .list(2), .list(3)]] : [])
            #expect(verdicts.allSatisfy { $0.isAcceptedAsSent })
            #expect((1...3).map { store.value(.list($0), "name") } == ["b", "c", "a"])
        }
    }

    @Test func `M6 if half of a swap is refused, the other half is too`() {
        var store = Self.store(.reject)
        store.push([Self.list(1, "a"), Self.list(2, "b")])
        let verdicts = store.push([
            .update(.list(1), ["name": "b"], at: .at(1)), .update(.list(2), ["name": "a", "colour": 1], at: .at(1)),
        ])
        #expect(verdicts.map { $0.error?.type } == ["uniqueViolation", "invalidProperties"])
        #expect(verdicts[0].error?.winner == RowKey.list(2).id)
        #expect(store.seq == 1)
    }

    @Test func `M6 a collision fails its group, and rows that refer to the group are blocked`() {
        var store = Self.store(.reject)
        store.push([Self.list(1, "a")])
        let verdicts = store.push(
            [
                Self.list(2, "a"), Self.list(3, "c"),
                .create(.todo(1), ["content": "x", "listId": .string(RowKey.list(3).id)], at: .at(0)),
                Self.list(4, "c"),
            ], groups: [[.list(2), .list(3)]])
        #expect(verdicts.map { $0.error?.type } == ["uniqueViolation", "groupFailed", "blocked", nil])
        #expect(store.rows.keys.filter { $0.type == "List" }.count == 2)
    }

    @Test func `M6 null never collides, and an index of several columns compares all of them`() {
        var store = Self.store(.reject)
        store.schema.types["List"]?.uniqueIndexes = [UniqueIndex(["name", "note"])]
        let lists: [RowOperation] = [
            Self.list(1, "a"), Self.list(2, "a"), .create(.list(3), ["name": "a", "note": "x"], at: .at(0)),
            .create(.list(4), ["name": "b", "note": "x"], at: .at(0)),
        ]
        #expect(store.push(lists).allSatisfy { $0.isAcceptedAsSent })
        #expect(store.push([.update(.list(1), ["note": "x"], at: .at(1))])[0].error?.winner == RowKey.list(3).id)
    }

    // MARK: - mergeInto

    @Test func `M6 mergeInto: the second row merges into the first, and references to it follow, even later ones`() {
        var store = Self.store(.mergeInto)
        store.push([.create(.list(1), ["name": "Trip", "note": "old"], at: .at(0))])
        store.push([.create(.todo(1), ["content": "x"], at: .at(0)), .create(.list(2), ["name": "Home"], at: .at(0))])
        store.push([.update(.todo(1), ["listId": .string(RowKey.list(2).id)], at: .at(1))])
        let merging = RowOperation.update(.list(2), ["name": "Trip", "note": "new"], at: .at(9, "deviceBB"))
        #expect(store.push([merging])[0] == .mergedInto(RowKey.list(1).id))
        #expect(store.value(.list(1), "note") == "new")
        #expect(store.rows[.list(2)]?.memory.mergedInto == RowKey.list(1).id)
        #expect(store.row(.list(2))?.isAlive == false)
        #expect(store.value(.todo(1), "listId")?.string == RowKey.list(1).id)
        #expect(store.rows[.todo(1)]?.seq == store.seq)
        // A later edit of the merged row, and a later reference to it.
        let seq = store.seq
        #expect(store.push([merging])[0] == .mergedInto(RowKey.list(1).id))
        #expect(store.seq == seq)
        let late = store.push([
            .update(.list(2), ["note": "newest"], at: .at(10)),
            .create(.todo(2), ["content": "y", "listId": .string(RowKey.list(2).id)], at: .at(10)),
        ])
        #expect(late[0] == .mergedInto(RowKey.list(1).id))
        #expect(late[1].won?.values == ["listId": .string(RowKey.list(1).id)])
        #expect(store.value(.list(1), "note") == "newest")
        // Deleting the merged row does not delete the surviving one.
        #expect(store.push([.destroy(.list(2), at: .at(11), generation: 2)])[0].isAcceptedAsSent)
        #expect(store.row(.list(1))?.isAlive == true)
    }

    @Test func `M1 M6 mergeInto: if one transaction wrote both rows, the first row's values are kept`() {
        var store = Self.store(.mergeInto)
        let second = RowOperation.create(.list(2), ["name": "Home", "note": "b"], at: .at(0))
        store.push([.create(.list(1), ["name": "Trip", "note": "a"], at: .at(0)), second])
        store.push([.update(.list(2), ["name": "Trip"], at: .at(1))])
        #expect(store.value(.list(1), "note") == "a")
        #expect(store.push([second])[0] == .mergedInto(RowKey.list(1).id))
        #expect(store.value(.list(1), "note") == "a")
    }

    @Test func `M6 mergeInto: new rows of one push merge into the first of them and keep their values`() {
        var store = Self.store(.mergeInto)
        let verdicts = store.push([
            .create(.list(5), ["name": "Trip", "note": "a"], at: .at(1)),
            .create(.list(2), ["name": "Trip", "note": "b"], at: .at(2)),
            .create(.todo(1), ["content": "x", "listId": .string(RowKey.list(2).id)], at: .at(0)),
        ])
        #expect(verdicts[0].won?.values["note"] == "b")
        #expect(verdicts[1] == .mergedInto(RowKey.list(5).id))
        #expect(verdicts[2].won?.values == ["listId": .string(RowKey.list(5).id)])
    }

    @Test func `M6 mergeInto: after the surviving row is deleted, edits of merged rows are answered as gone`() {
        var store = Self.store(.mergeInto)
        store.push([Self.list(1, "Trip")])
        store.push([Self.list(2, "Trip")])
        store.push([.destroy(.list(1), at: .at(3), generation: 2)])
        #expect(store.push([.update(.list(2), ["note": "x"], at: .at(9))])[0].isGone)
        #expect(store.push([.create(.list(2), ["name": "Trip"], at: .at(10), generation: 3)])[0].isAcceptedAsSent)
        #expect(store.rows[.list(2)]?.memory == RowMemory())
    }

    @Test func `M1 M6 mergeInto: a write to an earlier life of a merged row is lost`() {
        var store = Self.store(.mergeInto)
        store.push([Self.list(1, "Trip"), .create(.list(2), ["name": "Home"], at: .at(0), generation: 3)])
        store.push([.update(.list(2), ["name": "Trip"], at: .at(1), generation: 3)])
        #expect(store.push([.update(.list(2), ["note": "old"], at: .at(9), generation: 1)])[0].isGone)
        #expect(store.value(.list(1), "note") == nil)
    }

    @Test func `M3 M6 counters of merged rows add up, and a repeated push is not counted twice`() {
        var store = Self.store(.mergeInto)
        store.push([.create(.list(1), ["name": "Trip", "likes": ["@total": 2]], at: .at(0))])
        let second = RowOperation.create(.list(2), ["name": "Trip", "likes": ["@total": 3]], at: .at(1))
        store.push([second])
        store.push([second])
        #expect(store.row(.list(1))?.sum(of: "likes") == 5)
        store.push([.update(.list(2), ["likes": ["@total": 4]], at: .at(2))])
        store.push([.update(.list(1), ["likes": ["@total": 7]], at: .at(3))])
        #expect(store.row(.list(1))?.sum(of: "likes") == 11)
    }

    @Test func `S3 M3 M6 a repeated push through a chain of merged rows is not counted twice`() {
        var store = Self.store(.mergeInto)
        let first = RowOperation.create(.list(1), ["name": "B", "likes": ["@total": 1]], at: .at(1))
        store.push([
            Self.list(3, "C"), .create(.list(2), ["name": "B", "likes": ["@total": 10]], at: .at(0, "deviceBB")),
        ])
        #expect(store.push([first])[0] == .mergedInto(RowKey.list(2).id))
        #expect(store.push([.update(.list(2), ["name": "C"], at: .at(2))])[0] == .mergedInto(RowKey.list(3).id))
        #expect(store.row(.list(3))?.sum(of: "likes") == 11)
        let seq = store.seq
        #expect(store.push([first])[0] == .mergedInto(RowKey.list(3).id))
        #expect(store.row(.list(3))?.sum(of: "likes") == 11)
        #expect(store.seq == seq)
        store.push([.update(.list(1), ["likes": ["@total": 3]], at: .at(3))])
        #expect(store.row(.list(3))?.sum(of: "likes") == 13)
    }

    @Test func `M2 M6 a merged row's counts do not return in the surviving row's next life`() {
        var store = Self.store(.mergeInto)
        let second = RowOperation.create(.list(2), ["name": "Trip", "likes": ["@total": 3]], at: .at(1))
        store.push([Self.list(1, "Trip")])
        #expect(store.push([second])[0] == .mergedInto(RowKey.list(1).id))
        store.push([.destroy(.list(1), at: .at(2), generation: 2)])
        store.push([.create(.list(1), ["name": "Tour"], at: .at(3), generation: 3)])
        #expect(store.push([second])[0].isGone)
        #expect(store.row(.list(1))?.sum(of: "likes") == 0)
        #expect(store.value(.list(1), "name") == "Tour")
    }

    @Test func `M6 rows that would be too large together are not merged`() {
        var store = Self.store(.mergeInto)
        store.schema.types["List"]?.columns["more"] = ColumnSchema(.string)
        let text = JSON.string(String(repeating: "x", count: RowSync.Limit.rowBytes * 2 / 3))
        store.push([.create(.list(1), ["name": "Trip", "note": text], at: .at(0))])
        let verdict = store.push([.create(.list(2), ["name": "Trip", "more": text], at: .at(1))])[0]
        #expect(verdict.error?.type == "tooLarge")
        #expect(store.row(.list(2)) == nil && store.value(.list(1), "more") == nil)
    }

    @Test
    func `M6 rows that collide because the server moved their references are merged under every collision policy`() {
        var store = Self.store(.mergeInto)
        store.schema.types["Todo"]?.uniqueIndexes = [UniqueIndex(["content", "listId"])]
        store.push([Self.list(1, "Trip"), Self.list(2, "Home")])
        for number in 1...2 {
            store.push([
                .create(.todo(number), ["content": "x", "listId": .string(RowKey.list(number).id)], at: .at(0))
            ])
        }
        #expect(store.push([.update(.list(2), ["name": "Trip"], at: .at(1))])[0] == .mergedInto(RowKey.list(1).id))
        #expect(store.rows[.todo(2)]?.memory.mergedInto == RowKey.todo(1).id)
        #expect(store.row(.todo(1))?.isAlive == true)
    }

    @Test(arguments: [UniqueIndex.OnCollision.reject, .mergeInto], [true, false])
    func `M6 each value's winner is decided once, however many rows of a push have it`(
        onCollision: UniqueIndex.OnCollision, isUpdate: Bool
    ) {
        let count = TestForm.of(short: 1000, full: 5000)
        var store = Self.store(onCollision)
        if isUpdate { store.push((0..<count).map { Self.list($0, .string("name \($0)")) }) }
        let before = store.meter.steps
        let verdicts = store.push(
            (0..<count).map {
                isUpdate ? .update(.list($0), ["name": ""], at: .at(1)) : Self.list($0, "")
            })
        #expect(verdicts[0].won == nil && verdicts[0].error == nil)
        #expect(
            verdicts.dropFirst().allSatisfy {
                onCollision == .reject
                    ? $0.error?.winner == RowKey.list(0).id : $0 == .mergedInto(RowKey.list(0).id)
            })
        #expect(store.meter.steps - before < 20 * count)
    }

    @Test func `M6 merging many rows into one computes its size incrementally`() {
        var row = WorkingRow(
            row: MergeRow(generation: 1, cells: ["name": Cell("Trip", .at(0))]), memory: RowMemory(),
            cause: .init(unit: 0, key: .list))
        for number in 0..<200 {
            let note = JSON.string(String(repeating: "x", count: number % 7))
            let taken = row.absorb(
                MergeRow(
                    generation: 1, cells: [number % 3 == 0 ? "note" : "name": Cell(note, .at(Int64(number)))],
                    counters: ["likes": ["origin\(number % 50)": CounterTotal(Int64(number), .at(Int64(number)))]]))
            #expect(taken.contains("likes"))
            #expect(row.weight == RowWeight(of: row.row, row.memory))
        }
        row.row.cells["note"] = nil
        #expect(row.weight == nil)
    }

    @Test func `a push with thousands of collisions is processed quickly`() {
        var store = Self.store(.mergeInto)
        let lists = (0..<2000).map { Self.list($0, .string("name \($0 % 100)")) }
        #expect(store.push(lists).filter { if case .mergedInto = $0 { true } else { false } }.count == 1900)
        store.schema.types["List"]?.uniqueIndexes = [UniqueIndex(["name"])]
        let more = (2000..<4000).map { Self.list($0, .string("name \($0 % 100)")) }
        #expect(store.push(more).allSatisfy { $0.error?.type == "uniqueViolation" })
    }
}
