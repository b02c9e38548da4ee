// This source file is part of the Optimist open source project, under the MIT licence.

import Testing

@_spi(Internals) @testable import OptimistServing
@_spi(Internals) @testable import OptimistWire

/// Rules of columns and an app's own checks, at the server.
@Suite(.timeLimit(.minutes(20)))
struct RuleTests {
    /// A list's name may have a second half only beside a first one, and rows that are done have no priority.
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

    @Test func `G1 the server refuses a value that breaks a rule, by column, and keeps its row`() {
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

    @Test func `G3 the app's check sees the merged row, and its code and columns reach the device`() {
        var store = Self.store()
        store.push([.create(.todo, ["content": "tea", "priority": 2], at: .at(0))])
        let error = store.push([.update(.todo, ["done": true], at: .at(1))])[0].error
        #expect((error?.type, error?.code, error?.properties) == ("invalidProperties", "doneAndUrgent", ["priority"]))
        #expect(error?.current?.values["priority"] == 2)
        #expect(store.value(.todo, "done") == nil)
        #expect(store.push([.update(.todo, ["done": true, "priority": 0], at: .at(2))])[0].isAcceptedAsSent)
    }

    @Test func `G3 a refused row fails its group, and the rows outside it are applied`() {
        var store = Self.store()
        let verdicts = store.push(
            [
                .create(.todo, ["content": "tea", "priority": 2, "done": true], at: .at(0)),
                .create(.todo(1), ["content": "milk"], at: .at(0)), .create(.todo(2), ["content": "bread"], at: .at(0)),
            ], groups: [[.todo, .todo(1)]])
        #expect(verdicts.map { $0.error?.type } == ["invalidProperties", "groupFailed", nil])
        #expect(Set(store.rows.keys) == [.todo(2)])
    }

    @Test func `G3 a write that changes nothing is not checked, so a repetition is answered as before`() {
        var store = Self.store(checked: false)
        let write = RowOperation.create(.todo, ["content": "tea", "priority": 2, "done": true], at: .at(0))
        #expect(store.push([write])[0].isAcceptedAsSent)
        store.rowValidation = Self.checks
        #expect(store.push([write])[0].isAcceptedAsSent)
        #expect(store.push([.destroy(.todo, at: .at(1))])[0].error == nil)
    }

    @Test func `G1 G3 M6 an edit of a row that was merged into another is checked as that one would be`() {
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

    @Test func `G3 M6 edits of one push that each are allowed, and not both together in one row, are not both taken`() {
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
