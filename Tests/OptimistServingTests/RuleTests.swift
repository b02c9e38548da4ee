// This source file is part of the Optimist open source project, under the MIT licence.

import Testing

@_spi(Internals) @testable import OptimistServing
@_spi(Internals) @testable import OptimistWire

/// Column rules and the app's own checks on the server.
@Suite(.timeLimit(.minutes(20)))
struct RuleTests {
    /// A done to-do has no priority.
    private static let checks = RowValidation([
        "Todo": { row in
            guard row["done"] == true, row["priority"].int ?? 0 > 0 else { return nil }
            return RowFault("doneAndUrgent", "What is done has no priority.", columns: ["priority"])
        }
    ])

    private static func store(checked: Bool = true) -> ModelStore {
        var store = ModelStore()
        store.schema.types["Todo"]?.columns["priority"]?.rules = ColumnRules(min: 0, max: 3)
        store.schema.types["Todo"]?.columns["content"]?.rules = ColumnRules(pattern: "[a-z ]*")
        if checked { store.rowValidation = checks }
        return store
    }

    @Test func `G1 the server refuses a value that breaks a rule, names the column and keeps its row`() {
        var store = Self.store()
        store.push([.create(.todo, ["content": "tea", "priority": 2], at: .at(0))])
        let error = store.push([.update(.todo, ["priority": 4], at: .at(1))])[0].error
        #expect((error?.type, error?.properties) == ("invalidProperties", ["priority"]))
        #expect(error?.description == "The column \"priority\" breaks the rule \"max\": the maximum is 3.")
        #expect(store.value(.todo, "priority") == 2)
        let other = store.push([.create(.todo(1), ["content": "Tea!"], at: .at(2))])[0].error
        #expect(other?.properties == ["content"])
    }

    @Test func `G1 a stored value that breaks a newer rule stays, and the other columns can be edited`() {
        var store = ModelStore()
        store.push([.create(.todo, ["content": "TEA", "priority": 9], at: .at(0))])
        store.schema = Self.store().schema
        #expect(store.push([.update(.todo, ["done": true], at: .at(1))])[0].isAcceptedAsSent)
        #expect(store.value(.todo, "priority") == 9)
    }

    @Test func `G3 the app's check sees the merged row, and the device receives its code and columns`() {
        var store = Self.store()
        store.push([.create(.todo, ["content": "tea", "priority": 2], at: .at(0))])
        let error = store.push([.update(.todo, ["done": true], at: .at(1))])[0].error
        #expect((error?.type, error?.code, error?.properties) == ("invalidProperties", "doneAndUrgent", ["priority"]))
        #expect(error?.current?.values["priority"] == 2)
        #expect(store.value(.todo, "done") == nil)
        #expect(store.push([.update(.todo, ["done": true, "priority": 0], at: .at(2))])[0].isAcceptedAsSent)
    }

    @Test func `G3 a refused row fails its group, and other rows are applied`() {
        var store = Self.store()
        let verdicts = store.push(
            [
                .create(.todo, ["content": "tea", "priority": 2, "done": true], at: .at(0)),
                .create(.todo(1), ["content": "milk"], at: .at(0)), .create(.todo(2), ["content": "bread"], at: .at(0)),
            ], groups: [[.todo, .todo(1)]])
        #expect(verdicts.map { $0.error?.type } == ["invalidProperties", "groupFailed", nil])
        #expect(Set(store.rows.keys) == [.todo(2)])
    }

    @Test func `G3 a write that changes nothing is not checked, so a repeated push gets the same answer`() {
        var store = Self.store(checked: false)
        let write = RowOperation.create(.todo, ["content": "tea", "priority": 2, "done": true], at: .at(0))
        #expect(store.push([write])[0].isAcceptedAsSent)
        store.rowValidation = Self.checks
        #expect(store.push([write])[0].isAcceptedAsSent)
        #expect(store.push([.destroy(.todo, at: .at(1))])[0].error == nil)
    }

    @Test func `G1 G3 M6 an edit of a merged row is checked against the surviving row`() {
        var store = Self.store()
        store.schema.types["Todo"]?.uniqueIndexes = [UniqueIndex(["content"], onCollision: .mergeInto)]
        for number in 1...3 {
            store.push([.create(.todo(number), ["content": "tea", "priority": 2], at: .at(Int64(number)))])
        }
        #expect(store.rows[.todo(2)]?.memory.mergedInto == RowKey.todo(1).id)
        let verdicts = store.push([
            .update(.todo(2), ["done": true], at: .at(4)), .update(.todo(3), ["priority": 3], at: .at(4)),
        ])
        let error = verdicts[0].error
        #expect((error?.type, error?.code, error?.properties) == ("invalidProperties", "doneAndUrgent", ["priority"]))
        #expect(verdicts[1] == .mergedInto(RowKey.todo(1).id))
        #expect(store.value(.todo(1), "done") == nil && store.value(.todo(1), "priority") == 3)
        #expect(store.push([.update(.todo(2), ["priority": 4], at: .at(5))])[0].error?.properties == ["priority"])
        let allowed = store.push([.update(.todo(2), ["done": true, "priority": 0], at: .at(6))])
        #expect(allowed[0] == .mergedInto(RowKey.todo(1).id) && store.value(.todo(1), "done") == true)
    }

    @Test func `G3 M6 of two edits that break a check only together, one push applies just one`() {
        var store = Self.store()
        store.schema.types["Todo"]?.uniqueIndexes = [UniqueIndex(["content"], onCollision: .mergeInto)]
        for number in 1...2 { store.push([.create(.todo(number), ["content": "tea"], at: .at(Int64(number)))]) }
        let verdicts = store.push([
            .update(.todo(2), ["done": true], at: .at(4)), .update(.todo(1), ["priority": 1], at: .at(4)),
        ])
        #expect(verdicts.map { $0.error?.code } == ["doneAndUrgent", nil])
        #expect(store.value(.todo(1), "done") == nil && store.value(.todo(1), "priority") == 1)
    }
}
