// This source file is part of the Optimist open source project, under the MIT licence.

import Foundation
import OptimistCore
import OptimistServing
import OptimistWire

@testable import OptimistServer

/// Requests of one account, each of one kind, on rows from earlier requests.
struct WorkKinds {
    typealias Calls = [(name: String, arguments: JSON)]

    /// A drawn request.
    struct Drawn {
        var calls: Calls
        var isPush = false
        var groups: [[String]] = []
        var schemaVersion: Int?
        var origins: [String] = []
        var createdIDs: [String: String]?
    }

    enum Kind: String, CaseIterable {
        case createSmall, createLarge, createMany, updateSmall, updateJSON, repeated, destroy, destroyNothing, cascade
        case setNull, collideRejected, collideMerged, refusedLarge, refusedGroup, counters, aheadClocks, blocked
        case getAll, getIDs, getMissing, getProperties, getOldNames, changes, inlineChanges, inlineOldNames
        case snapshot, snapshots, deletedSnapshots, references, referencedRows, manyReferences, echo, patterns,
            createdIDs, clocks
    }

    static let schema = Schema(
        id: "work", version: 2,
        types: [
            "list": TypeSchema(
                columns: ["name": ColumnSchema(.string), "code": ColumnSchema(.string)],
                uniqueIndexes: [UniqueIndex(["name"], onCollision: .mergeInto), UniqueIndex(["code"])]),
            "item": TypeSchema(columns: [
                "text": ColumnSchema(.string, formerNames: [FormerName("title", until: 1)]),
                "note": ColumnSchema(.string), "number": ColumnSchema(.int), "done": ColumnSchema(.bool),
                "tags": ColumnSchema(.json), "likes": ColumnSchema(.counter),
                "word": ColumnSchema(.string, rules: ColumnRules(pattern: ".*#.{0,250}")),
                "list": ColumnSchema(.ref, target: "list", onDelete: .cascade),
                "other": ColumnSchema(.ref, target: "list", onDelete: .setNull),
            ]),
        ])

    var chance: SplitMix64
    private var made = 0
    private var state = "e1.0"
    private var time: Int64 = 0

    init(seed: UInt64) { chance = SplitMix64(seed: seed) }

    private mutating func number(_ range: ClosedRange<Int>) -> Int { Int.random(in: range, using: &chance) }
    private static func item(_ number: Int) -> String { RowKey.id(number) }
    private static func list(_ number: Int) -> String { RowKey.id(number + 0x1000_0000) }
    private static func text(_ count: Int) -> JSON { .string(String(repeating: "text ", count: count / 5 + 1)) }

    /// Items that no request has named yet.
    private mutating func new(_ count: Int, _ values: (Int) -> JSONObject) -> JSON {
        defer { made += count }
        return ["create": .object(JSONObject((made..<made + count).map { (Self.item($0), .object(values($0))) }))]
    }

    /// Distinct items from earlier requests, as many as exist.
    private mutating func some(_ count: Int) -> [Int] {
        let start = number(0...max(0, made - count))
        return Array(start..<max(start + 1, min(made, start + count)))
    }

    private static func rows(_ member: String, _ rows: [(String, JSONObject)]) -> JSON {
        [member: .object(JSONObject(rows.map { ($0.0, .object($0.1)) }))]
    }

    private mutating func clock(ahead: Bool = false) -> JSON {
        time += 1
        return .string(WriteClock.at(time + (ahead ? 3_600_000 : 0)).description)
    }

    /// - Parameter size: The amount of work, from 1 to 100.
    mutating func draw(_ kind: Kind, size: Int) -> Drawn {
        writes(kind, size) ?? lifes(kind, size) ?? reads(kind, size) ?? odd(kind, size)
    }
}

// MARK: - Kinds

extension WorkKinds {
    private mutating func writes(_ kind: Kind, _ size: Int) -> Drawn? {
        switch kind {
        case .createSmall:
            return Drawn(calls: [("item/set", new(10 * size) { ["text": "tea", "number": .int(Int64($0))] })])
        case .createLarge: return Drawn(calls: [("item/set", new(size) { _ in ["note": Self.text(20_000)] })])
        case .createMany:
            let list = JSON.string(Self.list(1))
            return Drawn(calls: [("item/set", new(10 * size) { _ in ["text": "x", "list": list, "other": list] })])
        case .updateSmall:
            let mark = JSON.string("m\(chance.next())")
            return Drawn(calls: [
                ("item/set", Self.rows("update", some(10 * size).map { (Self.item($0), ["text": mark]) }))
            ])
        case .updateJSON:
            let tags = JSON.array((0..<500).map { .array([.int($0), "tag"]) })
            return Drawn(calls: [("item/set", Self.rows("update", some(size).map { (Self.item($0), ["tags": tags]) }))])
        case .repeated:
            let clock = JSON.string(WriteClock.at(-1_000).description)
            let rows = some(10 * size).map { (Self.item($0), ["text": "old", "@hlc": clock] as JSONObject) }
            return Drawn(calls: [("item/set", Self.rows("update", rows))], isPush: true)
        case .counters:
            let totals = (0..<20).map { JSON.object(["@total": 1, "origin": .string("device\($0)"), "@hlc": clock()]) }
            let rows = some(size).map { (Self.item($0), ["likes": .array(totals)] as JSONObject) }
            return Drawn(calls: [("item/set", Self.rows("update", rows))], isPush: true)
        case .aheadClocks:
            let clock = clock(ahead: true)
            let rows = some(10 * size).map { (Self.item($0), ["text": "ahead", "@hlc": clock] as JSONObject) }
            return Drawn(calls: [("item/set", Self.rows("update", rows))], isPush: true)
        case .patterns:
            let rows = some(size).map { number -> (String, JSONObject) in
                (Self.item(number), ["word": .string("\(number)" + String(repeating: "#a", count: 100))])
            }
            return Drawn(calls: [("item/set", Self.rows("update", rows))])
        default: return nil
        }
    }

    private mutating func lifes(_ kind: Kind, _ size: Int) -> Drawn? {
        switch kind {
        case .destroy:
            return Drawn(calls: [("item/set", ["destroy": .array(some(10 * size).map { .string(Self.item($0)) })])])
        case .destroyNothing:
            let rows = (0..<10 * size).map { JSON.string(Self.item($0 + 0x2000_0000)) }
            return Drawn(calls: [("item/set", ["destroy": .array(rows)])])
        case .cascade, .setNull:
            let (id, column) = (Self.list(number(10...0x0FFF_FFFF)), kind == .cascade ? "list" : "other")
            let ref = JSON.string(id)
            return Drawn(calls: [
                ("list/set", Self.rows("create", [(id, ["name": ref])])),
                ("item/set", new(10 * size) { _ in [column: ref] }), ("list/set", ["destroy": [ref]]),
            ])
        case .collideRejected:
            let rows = (0..<10 * size).map { _ in (Self.list(number(10...0x0FFF_FFFF)), ["code": "same"] as JSONObject)
            }
            return Drawn(calls: [("list/set", Self.rows("create", rows))])
        case .collideMerged:
            let lists = (0..<2 * size).map { _ in Self.list(number(10...0x0FFF_FFFF)) }
            return Drawn(calls: [
                ("list/set", Self.rows("create", lists.map { ($0, ["name": .string("own \($0)")]) })),
                ("item/set", new(lists.count) { ["list": .string(lists[$0 % lists.count])] }),
                ("list/set", Self.rows("update", lists.map { ($0, ["name": "same"]) })),
            ])
        case .refusedLarge:
            let rows = some(size).map { (Self.item($0), ["number": "no number"] as JSONObject) }
            return Drawn(calls: [("item/set", Self.rows("update", rows))])
        case .refusedGroup:
            let first = made
            var rows = new(10 * size) { _ in ["text": "x"] }.object ?? [:]
            rows["update"] = ["unknown": ["text": "x"]]
            let group = (first..<made).map { "item:\(Self.item($0))" } + ["item:unknown"]
            return Drawn(calls: [("item/set", .object(rows))], isPush: true, groups: [group])
        case .blocked:
            let list = JSON.string(Self.list(0x3000_0000))
            return Drawn(calls: [("item/set", new(10 * size) { _ in ["list": list] })])
        default: return nil
        }
    }

    private mutating func reads(_ kind: Kind, _ size: Int) -> Drawn? {
        let page: JSONObject = ["maxChanges": .int(Int64(50 * size))]
        switch kind {
        case .getAll: return Drawn(calls: [("item/get", ["ids": .array(some(5_000).map { .string(Self.item($0)) })])])
        case .getIDs:
            return Drawn(calls: [("item/get", ["ids": .array(some(20 * size).map { .string(Self.item($0)) })])])
        case .getMissing:
            let ids = (0..<50 * size).map { JSON.string(Self.item($0 + 0x2000_0000)) }
            return Drawn(calls: (0..<3).map { _ in ("item/get", ["ids": .array(ids)]) })
        case .getProperties:
            let ids = JSON.array(some(20 * size).map { .string(Self.item($0)) })
            return Drawn(calls: [("item/get", ["ids": ids, "properties": ["text", "done"]])])
        case .getOldNames:
            let ids = JSON.array(some(20 * size).map { .string(Self.item($0)) })
            return Drawn(calls: [("item/get", ["ids": ids])], schemaVersion: 1)
        case .changes: return Drawn(calls: [("item/changes", .object(page.adding("sinceState", .string(state))))])
        case .inlineChanges, .inlineOldNames:
            let asked = page.adding("sinceState", .string(state)).adding("inline", true)
            return Drawn(
                calls: [("item/changes", .object(asked)), ("list/changes", .object(asked))],
                schemaVersion: kind == .inlineOldNames ? 1 : nil, origins: ["device1"])
        case .snapshot: return Drawn(calls: [("item/changes", .object(page.adding("snapshot", [:])))])
        case .snapshots, .deletedSnapshots:
            let asked: JSON = ["snapshot": [:], "maxChanges": 1]
            let calls = (0..<60).map { _ in ("item/changes", asked) }
            if kind == .snapshots { return Drawn(calls: calls) }
            return Drawn(calls: [("item/set", ["destroy": .array(some(2_000).map { .string(Self.item($0)) })])] + calls)
        default: return nil
        }
    }

    private mutating func odd(_ kind: Kind, _ size: Int) -> Drawn {
        let many = JSON.array((0..<500 * size).map { .string(Self.item($0)) })
        func reference(_ path: String, to call: Int = 0, _ name: String = "Core/echo") -> JSON {
            ["resultOf": .string("\(call)"), "name": .string(name), "path": .string(path)]
        }
        switch kind {
        case .references:
            let ids = JSON.array(some(20 * size).map { .string(Self.item($0)) })
            return Drawn(calls: [
                ("item/get", ["ids": ids]), ("list/get", ["#ids": reference("/list/*/list", "item/get")]),
                ("item/get", ["#ids": reference("/list/*/id", "item/get")]),
            ])
        case .referencedRows:
            let rows = JSON.object(JSONObject(some(5 * size).map { (Self.item($0), ["done": true]) }))
            return Drawn(calls: [
                ("Core/echo", ["rows": rows]), ("item/set", ["#update": reference("/rows")]),
                ("item/set", ["#update": reference("/rows")]),
            ])
        case .manyReferences:
            let call = JSONObject((0..<ResultLimit.references).map { ("#x\($0)", reference("/many")) })
            return Drawn(
                calls: [("Core/echo", ["many": many])] + (0..<20).map { _ in ("item/set", .object(call)) })
        case .echo: return Drawn(calls: [("Core/echo", ["many": many])])
        case .createdIDs:
            let ids = (0..<100 * size).map { ("k\($0)", Self.item($0)) }
            var drawn = Drawn(calls: [("item/set", new(size) { _ in ["text": "x"] })])
            drawn.createdIDs = Dictionary(ids, uniquingKeysWith: { $1 })
            return drawn
        default:
            let clocks = (0..<100 * size).map { (Self.item($0), JSON.object(["@gen": 2, "@hlc": clock()])) }
            return Drawn(
                calls: [("item/set", ["destroyClocks": .object(JSONObject(clocks)), "destroy": []])], isPush: true)
        }
    }

    private enum ResultLimit { static let references = 16 }
}

extension JSONObject {
    fileprivate func adding(_ name: String, _ value: JSON) -> JSONObject {
        var object = self
        object.append(name, value)
        return object
    }
}
