// This source file is part of the Optimist open source project, under the MIT licence.

import Testing

@_spi(Internals) @testable import OptimistServing
@_spi(Internals) @testable import OptimistWire

/// Which rows the server refuses.
@Suite(.timeLimit(.minutes(20)))
struct ValidationTests {
    @Test(arguments: [
        ("content", JSON.null), ("content", 5), ("done", "yes"), ("priority", 1.5), ("priority", .int(1 << 53 + 1)),
        ("listId", "not-a-uuid"), ("colour", "red"),
    ])
    func `a value that does not fit its column is invalidProperties, with the server's row`(column: String, value: JSON)
    {
        var store = ModelStore()
        store.push([.create(.todo, ["content": "a", "done": true], at: .at(0))])
        let error = store.push([.update(.todo, [column: value], at: .at(1))])[0].error
        #expect(error?.type == "invalidProperties")
        #expect(error?.properties == [column])
        #expect(error?.current?.values == ["content": "a", "done": true])
        #expect(error?.current?.clocks == ColumnClocks(common: .at(0)))
        #expect(error?.current?.seq == 1)
        #expect(store.seq == 1)
    }

    @Test func `a missing required column is named`() {
        var store = ModelStore()
        let error = store.push([.create(.todo, ["done": true], at: .at(0))])[0].error
        #expect(error?.type == "invalidProperties")
        #expect(error?.properties == ["content"])
        #expect(error?.current == nil)
        #expect(store.rows.isEmpty)
    }

    @Test func `a value over its column's size and a row over its limit are tooLarge`() {
        var store = ModelStore()
        let text = JSON.string(String(repeating: "é", count: 501))
        let error = store.push([.create(.todo, ["content": text], at: .at(0))])[0].error
        #expect(error?.type == "tooLarge")
        #expect(error?.properties == ["content"])
        store.schema.types["Todo"]?.columns["content"]?.maxBytes = nil
        #expect(store.push([.create(.todo, ["content": text], at: .at(0))])[0].isAcceptedAsSent)
        let row = store.push([
            .update(.todo, ["content": .string(String(repeating: "x", count: 1_000_000))], at: .at(1))
        ])
        #expect(row[0].error?.type == "tooLarge")
        #expect(row[0].error?.current?.values == ["content": text])
    }

    @Test func `M3 a counter takes hundreds of origins but not unlimited ones, and its row can be deleted`() {
        var store = ModelStore()
        store.schema.types["Todo"]?.columns["likes"] = ColumnSchema(.counter)
        store.push([.create(.todo, ["content": "a"], at: .at(0))])
        func count(_ origins: Range<Int>) -> RowVerdict {
            let totals = origins.map { number -> JSON in
                let device = "device\(number)" + String(repeating: "x", count: 40)
                return ["@total": 1, "origin": .string(device), "@hlc": .string(WriteClock.at(1, device).description)]
            }
            return store.push([.update(.todo, ["likes": .array(totals)], at: .at(1))])[0]
        }
        #expect(count(0..<200).isAcceptedAsSent)
        #expect(count(200..<9_000).error?.type == "tooLarge")
        #expect(store.row(.todo)?.sum(of: "likes") == 200)
        #expect(store.push([.destroy(.todo, at: .at(2), generation: 2)])[0].isAcceptedAsSent)
    }

    @Test func `M4 clocks that run ahead are remembered while there is room, and a delete always succeeds`() throws {
        let type = try #require(ModelStore.projects.types["Todo"])
        let (past, ahead) = (WriteClock.at(0), WriteClock.at(61_000, "deviceBB"))
        let giver = String(repeating: "x", count: RowSync.Limit.rowBytes - 60)
        let full = RowMemory(replaced: ["content": [giver: ReplacedClock(given: past, stamp: past)]])
        var merged = full
        merged.mergedInto = RowKey.todo(1).id
        let rows = [
            StoredRow(
                row: MergeRow(generation: 1, cells: ["content": Cell("a", past)]), memory: full, seq: 1, ordinal: 0,
                bornSeq: 1),
            StoredRow(row: MergeRow(generation: 2, deletion: past), memory: merged, seq: 1, ordinal: 0, bornSeq: 1),
        ]
        for stored in rows {
            var evaluation = RowEvaluation(key: .todo, type: type, stored: stored)
            var clock = ServerClock(milliseconds: 1_800_000_000_000)
            let edit = RowOperation.update(.todo, ["done": true], at: ahead, generation: 1)
            let edited = evaluation.apply(edit.action, clock: &clock)
            if case .refused(let error) = edited {
                #expect(error.type == "tooLarge")
            } else {
                Issue.record("It was not refused.")
            }
            let deletion = RowOperation.destroy(.todo, at: ahead, generation: 2)
            let deleted = evaluation.apply(deletion.action, clock: &clock)
            #expect(!deleted.isRefusal && !evaluation.row.isAlive)
            #expect(evaluation.memory == stored.memory)
        }
    }

    @Test func `S2 one refused row fails its groups`() {
        var store = ModelStore()
        let verdicts = store.push(
            [
                .create(.todo(1), ["content": "a"], at: .at(0)), .create(.todo(2), ["done": true], at: .at(0)),
                .create(.todo(3), ["content": "c"], at: .at(0)), .create(.todo(4), ["content": "d"], at: .at(0)),
            ], groups: [[.todo(1), .todo(2)], [.todo(2), .todo(3)]])
        #expect(verdicts.map { $0.error?.type } == ["groupFailed", "invalidProperties", "groupFailed", nil])
        #expect(verdicts[0].error?.blockedBy == ["Todo:\(RowKey.id(2))"])
        #expect(Set(store.rows.keys) == [.todo(4)])
    }

    @Test func `V5 a failed group returns the server's state of rows that the device deleted`() {
        var store = ModelStore()
        store.push((1...3).map { .create(.todo($0), ["content": .string("\($0)")], at: .at(0)) })
        let verdicts = store.push(
            [
                .destroy(.todo(1), at: .at(1), generation: 2),
                .create(.todo(2), ["content": "a"], at: .at(1), generation: 3),
                .update(.todo(3), ["content": "b"], at: .at(1)),
                .create(.todo(4), ["done": true], at: .at(1)),
            ], groups: [(1...4).map { .todo($0) }])
        #expect(verdicts.map { $0.error?.current?.values["content"] } == ["1", "2", nil, nil])
    }

    @Test func `groups: a group without a refused row is one transaction`() {
        var store = ModelStore()
        let verdicts = store.push(
            [
                .create(.todo, ["content": "a", "listId": .string(RowKey.list.id)], at: .at(0)),
                .create(.list, ["name": "l"], at: .at(0)),
            ], groups: [[.list, .todo]])
        #expect(verdicts.allSatisfy { $0.isAcceptedAsSent })
        #expect(store.rows.values.map(\.seq) == [1, 1])
    }

    @Test func `a row that refers to an unknown row is blocked, and so are its group and dependents`() {
        var store = ModelStore()
        let missing = RowKey.list(9)
        let verdicts = store.push(
            [
                .create(.todo(1), ["content": "a", "listId": .string(missing.id)], at: .at(0)),
                .create(.list(1), ["name": "l"], at: .at(0)),
                .create(.todo(2), ["content": "b", "listId": .string(RowKey.list(1).id)], at: .at(0)),
                .create(.todo(3), ["content": "c"], at: .at(0)),
            ], groups: [[.list(1), .todo(1)]])
        #expect(verdicts.map { $0.error?.type } == ["blocked", "groupFailed", "blocked", nil])
        #expect(verdicts[0].error?.blockedBy == [missing.description])
        #expect(verdicts[2].error?.blockedBy == [RowKey.list(1).description])
        #expect(Set(store.rows.keys) == [.todo(3)])
    }

    @Test func `a push may refer to its own rows in any order`() {
        var store = ModelStore()
        let child = RowOperation.create(.todo, ["content": "a", "listId": .string(RowKey.list.id)], at: .at(0))
        #expect(store.push([child, .create(.list, ["name": "l"], at: .at(0))]).allSatisfy { $0.isAcceptedAsSent })
    }

    @Test func `L1 a column required by a later schema leaves old rows editable, and new rows need it`() {
        var store = ModelStore()
        store.push([.create(.todo, ["content": "a"], at: .at(0))])
        store.schema.types["Todo"]?.columns["place"] = ColumnSchema(.string, isRequired: true)
        #expect(store.push([.update(.todo, ["done": true], at: .at(1))])[0].isAcceptedAsSent)
        #expect(store.push([.update(.todo, ["place": .null], at: .at(2))])[0].error?.properties == ["place"])
        #expect(store.push([.create(.todo(2), ["content": "b"], at: .at(2))])[0].error?.properties == ["place"])
        #expect(store.push([.update(.todo, ["place": "here"], at: .at(3))])[0].isAcceptedAsSent)
    }

    @Test func `a delete whose id is not a row id is refused, even with a generation`() {
        var store = ModelStore()
        let error = store.push([.destroy(RowKey("Todo", "nonsense"), at: .at(0), generation: 2)])[0].error
        #expect(error?.type == "invalidProperties" && error?.properties == ["id"])
        #expect(store.rows.isEmpty)
    }

    @Test func `S2 only groups that share rows with an unreadable call fail`() {
        var store = ModelStore()
        let rows = (1...3).map { RowOperation.create(.todo($0), ["content": "a"], at: .at(0)) }
        let verdicts = store.push(
            rows, groups: [[.todo(1), .list(1)], [.todo(2), .todo(3)]], unreadTypes: ["List"])
        #expect(verdicts.map { $0.error?.type } == ["groupFailed", nil, nil])
        #expect(verdicts[0].error?.blockedBy == [RowKey.list(1).description])
    }

    @Test func `rows that refer to each other in a cycle are accepted together`() {
        var store = ModelStore()
        store.schema.types["List"]?.columns["first"] = ColumnSchema(.ref, target: "Todo")
        let circle: [RowOperation] = [
            .create(.list, ["name": "l", "first": .string(RowKey.todo.id)], at: .at(0)),
            .create(.todo, ["content": "a", "listId": .string(RowKey.list.id)], at: .at(0)),
        ]
        #expect(store.push(circle).allSatisfy { $0.isAcceptedAsSent })
    }

    @Test func `a reference that lost to a later value blocks nothing`() {
        var store = ModelStore()
        store.push([.create(.todo, ["content": "a", "listId": .null], at: .at(5))])
        let verdict = store.push([.update(.todo, ["listId": .string(RowKey.list(9).id)], at: .at(1))])[0]
        #expect(verdict.won?.values == ["listId": .null])
    }

    @Test func `long chains of groups and references are processed quickly`() {
        var store = ModelStore()
        let count = 5000
        let keys = (0..<count).map { RowKey.todo($0) }
        let operations = keys.map { RowOperation.create($0, ["content": "x"], at: .at(0)) }
        let chain = (1..<count).map { [keys[$0], keys[$0 - 1]] }
        #expect(store.push(operations, groups: chain).allSatisfy { $0.isAcceptedAsSent })
        #expect(store.seq == 1)
    }

    @Test func `V1 refusals with more server rows than an answer holds are deferred, group by group`() {
        var store = ModelStore()
        let text = JSON.string(String(repeating: "x", count: 900))
        let todos = (0..<6).map(RowKey.todo)
        store.push(todos.map { .create($0, ["content": text], at: .at(0)) })
        store.maxAnswerBytes = 2_500
        let updates = todos.map { RowOperation.update($0, ["priority": "no number"], at: .at(1)) }
        #expect(
            store.push(updates).map { $0.error?.type }
                == Array(repeating: "invalidProperties", count: 2) + Array(repeating: "rateLimit", count: 4))
        // A group is deferred as a unit, and an oversized first group is answered.
        let deletes = todos[1...].map { RowOperation.destroy($0, at: .at(1), generation: 2) }
        let verdicts = store.push([updates[0]] + deletes, groups: [todos])
        #expect(verdicts.map { $0.error?.type } == ["invalidProperties"] + Array(repeating: "groupFailed", count: 5))
        let other = RowOperation.update(.todo(9), ["content": 3], at: .at(1))
        store.maxAnswerBytes = 10_000
        store.push([.create(.todo(9), ["content": text], at: .at(0))])
        store.maxAnswerBytes = 2_500
        let both = store.push([other, updates[0]] + deletes, groups: [todos])
        #expect(both.map { $0.error?.type } == ["invalidProperties"] + Array(repeating: "rateLimit", count: 6))
        // Repeating an applied edit changes nothing.
        store.push(todos.map { .update($0, ["content": text], at: .at(9)) })
        let seq = store.seq
        let late = todos.map { RowOperation.update($0, ["content": "late"], at: .at(5)) }
        #expect(store.push(late).map(\.isRefusal) == [false, false, true, true, true, true])
        #expect(store.seq == seq)
    }
}
