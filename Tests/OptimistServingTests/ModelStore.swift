// This source file is part of the Optimist open source project, under the MIT licence.

import OptimistWire

@testable import OptimistServing

/// The shortest store there can be, for testing decisions: what `SetEvaluation` decides, in a dictionary.
struct ModelStore {
    var rows: [RowKey: StoredRow] = [:]
    var seq: Int64 = 0
    var clock = HybridClock()
    var milliseconds: Int64 = 1_800_000_000_000
    var schema = ModelStore.projects

    /// Lists and to-dos that belong to them.
    static let projects = Schema(
        id: "projects",
        types: [
            "List": TypeSchema(columns: ["name": ColumnSchema(.string, isRequired: true, maxBytes: 100)]),
            "Todo": TypeSchema(columns: [
                "content": ColumnSchema(.string, isRequired: true, maxBytes: 1000), "done": ColumnSchema(.bool),
                "priority": ColumnSchema(.int),
                "listId": ColumnSchema(.ref, target: "List"),
            ]),
        ])

    @discardableResult
    mutating func push(_ operations: [RowOperation], groups: [[RowKey]] = []) -> [RowVerdict] {
        let evaluation = SetEvaluation(
            operations, groups: groups, schema: schema, stored: rows,
            clock: ServerClock(hybrid: clock, milliseconds: milliseconds))
        clock.witness(evaluation.clock.hybrid.last)
        if !evaluation.changes.isEmpty { seq += 1 }
        for (ordinal, change) in evaluation.changes.enumerated() {
            rows[change.key] = StoredRow(
                row: change.row, seq: seq, ordinal: ordinal, bornSeq: change.bornSeq ?? seq)
        }
        return evaluation.verdicts
    }

    func value(_ key: RowKey, _ column: String) -> JSON? { rows[key]?.row.cells[column]?.value }
}

extension RowKey {
    static let todo = RowKey("Todo", "00000000-0000-4000-8000-0000000000aa")
    static let list = RowKey("List", "00000000-0000-4000-8000-0000000000bb")
    static func todo(_ number: Int) -> Self { RowKey("Todo", id(number)) }
    static func list(_ number: Int) -> Self { RowKey("List", id(number + 500_000)) }
    static func id(_ number: Int) -> String {
        let digits = String(number, radix: 16)
        return "00000000-0000-4000-8000-" + String(repeating: "0", count: 12 - digits.count) + digits
    }
}

extension RowOperation {
    static func create(_ key: RowKey, _ values: JSONObject, at clock: Clock? = nil, generation: Int? = nil) -> Self {
        .init(key: key, action: .create(.test(values, clock, generation)))
    }
    static func update(_ key: RowKey, _ values: JSONObject, at clock: Clock? = nil, generation: Int? = nil) -> Self {
        .init(key: key, action: .update(.test(values, clock, generation)))
    }
    static func destroy(_ key: RowKey, at clock: Clock? = nil, generation: Int? = nil) -> Self {
        .init(key: key, action: .destroy(generation.map { Tombstone(generation: $0, clock: clock) }))
    }
}

extension RowPatch {
    fileprivate static func test(_ values: JSONObject, _ clock: Clock?, _ generation: Int?) -> Self {
        RowPatch(generation: generation, clocks: clock.map { ColumnClocks(common: $0) }, values: values)
    }
}

extension Clock {
    /// A clock of the model's present.
    static func at(_ milliseconds: Int64, _ device: String = "deviceAA") -> Self {
        Clock(stamp: Stamp(milliseconds: 1_800_000_000_000 + milliseconds), device: device)
    }
}

extension RowVerdict {
    var error: SetError? { if case .refused(let error) = self { error } else { nil } }
    var won: RowPatch? { if case .accepted(let won) = self { won } else { nil } }
    var isAcceptedAsSent: Bool { self == .accepted(won: nil) }
}
