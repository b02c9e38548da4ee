// This source file is part of the Optimist open source project, under the MIT licence.

import Foundation
import OptimistCore
@_spi(Internals) import OptimistWire
import TestForm
import Testing

@_spi(Internals) @testable import OptimistServing

/// Pushes from several devices in random order, some repeated.
@Suite(.serialized, .timeLimit(.minutes(20)))
struct PropertyTests {
    /// Uses every feature of a schema: lists in folders, to-dos in lists, favourites.
    private static let schema = Schema(
        id: "all",
        types: [
            "Folder": TypeSchema(
                columns: ["name": ColumnSchema(.string)],
                uniqueIndexes: [UniqueIndex(["name"], onCollision: .mergeInto)]),
            "List": TypeSchema(
                columns: [
                    "name": ColumnSchema(.string),
                    "folder": ColumnSchema(.ref, target: "Folder", onDelete: .setNull),
                ], uniqueIndexes: [UniqueIndex(["name"])]),
            "Todo": TypeSchema(
                columns: [
                    "content": ColumnSchema(.string), "likes": ColumnSchema(.counter),
                    "list": ColumnSchema(.ref, target: "List", onDelete: .cascade),
                    "after": ColumnSchema(.ref, target: "Todo", onDelete: .cascade),
                ], editWins: true),
            "Pin": TypeSchema(columns: [
                "todo": ColumnSchema(.ref, isRequired: true, target: "Todo", onDelete: .restrict)
            ]),
        ])

    /// 1,000 seeds for both tests together; 20,000 in `make soak`.
    private static func seeds(of campaign: UInt64) -> Range<UInt64> {
        let count: UInt64 = TestForm.of(short: 5, full: 25, soak: 500)
        return campaign * count..<(campaign + 1) * count
    }

    private static func id(_ type: String, _ number: Int) -> String {
        RowKey.id((["Folder": 1, "List": 2, "Todo": 3][type] ?? 4) * 1000 + number)
    }

    private struct Pushed {
        var operations: [RowOperation]
        var groups: [[RowKey]]
    }

    private static func push(using random: inout SplitMix64) -> Pushed {
        var operations: [RowOperation] = []
        for _ in 0..<Int.random(in: 1...4, using: &random) {
            let type = ["Folder", "List", "Todo", "Todo", "Pin"].randomElement(using: &random) ?? "Todo"
            let key = RowKey(type, id(type, .random(in: 0..<3, using: &random)))
            if operations.contains(where: { $0.key == key }) { continue }
            let device = ["deviceAA", "deviceBB", "deviceCC"].randomElement(using: &random) ?? ""
            let clock = WriteClock.at(
                .random(in: 0..<50, using: &random) * (Int.random(in: 0..<20, using: &random) == 0 ? 5000 : 1), device)
            let life = [1, 1, 1, 3].randomElement(using: &random) ?? 1
            func any(_ type: String) -> JSON { .string(id(type, .random(in: 0..<3, using: &random))) }
            var values: JSONObject
            switch type {
            case "Folder": values = ["name": .string("\(Int.random(in: 0..<3, using: &random))")]
            case "List":
                values = ["name": .string("\(Int.random(in: 0..<4, using: &random))"), "folder": any("Folder")]
            case "Pin": values = ["todo": any("Todo")]
            default:
                values = ["content": .string("\(Int.random(in: 0..<9, using: &random))")]
                if Bool.random(using: &random) {
                    values["likes"] = ["@total": .int(.random(in: 0...5, using: &random))]
                }
                if Bool.random(using: &random) { values["list"] = any("List") }
                if Int.random(in: 0..<3, using: &random) == 0 { values["after"] = any("Todo") }
            }
            switch Int.random(in: 0..<6, using: &random) {
            case 0: operations.append(.destroy(key, at: clock, generation: life + 1))
            case 1, 2: operations.append(.update(key, values, at: clock, generation: life))
            default: operations.append(.create(key, values, at: clock, generation: life))
            }
        }
        let isGroup = Bool.random(using: &random)
        return Pushed(operations: operations, groups: isGroup ? [operations.map(\.key)] : [])
    }

    /// Invariants that the store breaks after a push.
    private static func problems(of store: ModelStore) -> [String] {
        var problems: [String] = []
        let rows = store.rows
        let living = rows.filter(\.value.row.isAlive)
        var entryCount = 0
        var keys: Set<String> = []
        for (key, stored) in living {
            guard let type = schema.types[key.type] else { continue }
            for (column, definition) in type.columns {
                guard let target = definition.target, let id = stored.row.cells[column]?.value.string else { continue }
                if living[RowKey(target, id)] == nil {
                    problems.append("\(key).\(column) refers to a row that is gone")
                }
            }
            for index in type.uniqueIndexes {
                if let values = index.key(of: stored.row),
                    !keys.insert("\(key.type) \(index.columns) \(values)").inserted
                {
                    problems.append("two rows of \(key.type) have \(values)")
                }
            }
            let entries = type.indexEntries(of: stored.row)
            entryCount += entries.count
            for entry in entries where !store.account.holders(key.type, entry).contains(key.id) {
                problems.append("\(key) is not found under \(entry)")
            }
            if key.type == "Pin", stored.row.cells["todo"]?.value.isNull != false {
                problems.append("a pin holds nothing")
            }
        }
        if store.account.entryCount != entryCount { problems.append("an index holds rows that have left") }
        return problems
    }

    @Test(arguments: 0..<20)
    func
        `S2 M2 M6 references, unique values and groups stay consistent after every push, and repeating it changes nothing`(
            campaign: UInt64
        )
    {
        for seed in Self.seeds(of: campaign) {
            let problems = Self.run(seed)
            #expect(problems.isEmpty, "seed \(seed): \(problems)")
        }
    }

    private static func run(_ seed: UInt64) -> [String] {
        var random = SplitMix64(seed: seed)
        var store = ModelStore()
        store.schema = schema
        var problems: [String] = []
        for number in 0..<12 where problems.isEmpty {
            let push = push(using: &random)
            let verdicts = store.push(push.operations, groups: push.groups)
            if !push.groups.isEmpty, Set(verdicts.map(\.isRefusal)).count > 1 { problems.append("half a group") }
            problems += Self.problems(of: store)
            // A repeated push changes nothing if it was applied. A refused write may succeed now.
            if verdicts.contains(where: \.isRefusal) { continue }
            let seq = store.seq
            store.push(push.operations, groups: push.groups)
            if store.seq != seq { problems.append("push \(number), repeated, changed something: \(push.operations)") }
        }
        return problems
    }

    /// Without unique values and moved rows, the order of arrival does not matter.
    @Test(arguments: 0..<20)
    func `M1 M2 M3 pushes result in the same rows in any order, even if some are repeated`(campaign: UInt64) {
        for seed in Self.seeds(of: campaign) {
            var random = SplitMix64(seed: seed)
            let pushes = (0..<12).map { _ in Self.convergentPush(using: &random) }
            var results: [[RowKey: MergeRow]] = []
            for _ in 0..<3 {
                var store = ModelStore()
                store.schema = Self.schema
                for number in 0..<3 {
                    store.push([
                        .create(RowKey("List", Self.id("List", number)), ["name": .string("\(number)")], at: .at(0)),
                        .create(
                            RowKey("Todo", Self.id("Todo", number)),
                            ["content": "", "list": .string(Self.id("List", number % 2))], at: .at(0)),
                    ])
                }
                for push in (pushes + pushes.prefix(4)).shuffled(using: &random) { store.push([push]) }
                results.append(store.rows.mapValues(\.row.comparable))
            }
            let isSame = results.allSatisfy { $0 == results[0] }
            #expect(isSame, "seed \(seed)")
        }
    }

    private static func convergentPush(using random: inout SplitMix64) -> RowOperation {
        let device = ["deviceAA", "deviceBB", "deviceCC"].randomElement(using: &random) ?? ""
        let clock = WriteClock.at(.random(in: 1..<50, using: &random), device)
        let todo = RowKey("Todo", id("Todo", .random(in: 0..<3, using: &random)))
        switch Int.random(in: 0..<8, using: &random) {
        case 0: return .destroy(RowKey("List", id("List", 0)), at: clock, generation: 2)
        case 1: return .destroy(todo, at: clock, generation: 2)
        case 2, 3: return .update(todo, ["likes": ["@total": .int(.random(in: 0...5, using: &random))]], at: clock)
        default: return .update(todo, ["content": .string("\(clock)")], at: clock)
        }
    }
}

extension MergeRow {
    /// The row without its history, such as the number of revivals and a tombstone's hidden values.
    fileprivate var comparable: MergeRow {
        isAlive ? MergeRow(generation: 1, cells: cells, counters: counters) : MergeRow(generation: 2)
    }
}
