// This source file is part of the Optimist open source project, under the MIT licence.

import Testing

@_spi(Internals) @testable import OptimistServing
@testable import OptimistWire

/// The server's decisions on an in-memory account, without the protocol.
struct ModelStore {
    private(set) var account = InMemoryAccount()
    var clock = HybridClock()
    var milliseconds: Int64 = 1_800_000_000_000
    var schema = ModelStore.projects
    var rowValidation = RowValidation()
    var hook: GroupHook?
    var maxAnswerBytes = AnswerLimit.requestBytes
    var maxSpread = Consequences.maxSpread
    /// The cost of the pushes, in rows visited.
    let meter = WorkMeter(.unlimited, for: WorkCaller())

    /// Lists and their to-dos.
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
    mutating func push(
        _ operations: [RowOperation], from device: String? = nil, groups: [[RowKey]] = [], origins: Set<String> = [],
        unreadTypes: Set<String> = []
    ) -> [RowVerdict] {
        let transaction = InMemoryTransaction(account, of: "a1", as: .operator, .operator, epochs: ["e"])
        do {
            let context = SetEvaluation.Context(
                schema: schema, writer: .person("a1"), device: device, origins: origins, rowValidation: rowValidation,
                hook: hook.map { HookCalls($0, device: "deviceAA") },
                unreadTypes: unreadTypes, maxAnswerBytes: maxAnswerBytes, maxSpread: maxSpread, meter: meter)
            let evaluation = try SetEvaluation(
                operations, groups: groups, in: context, over: [SetEvaluation.Book(transaction, in: context)],
                clock: ServerClock(hybrid: clock, milliseconds: milliseconds))
            evaluation.clock.hand(to: &clock)
            let changes = evaluation.changes[0]
            if !changes.isEmpty { _ = try transaction.append(changes, day: 0) }
            account = transaction.contents
            return evaluation.verdicts
        } catch {
            Issue.record(error)
            return []
        }
    }

    var seq: Int64 { account.notes.seq }
    var rows: [RowKey: StoredRow] {
        var rows: [RowKey: StoredRow] = [:]
        for (type, stored) in account.rows {
            for (id, row) in stored { rows[RowKey(type, id)] = row }
        }
        return rows
    }
    func row(_ key: RowKey) -> MergeRow? { account.rows[key.type]?[key.id]?.row }

    func value(_ key: RowKey, _ column: String) -> JSON? { row(key)?.cells[column]?.value }
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
    static func create(_ key: RowKey, _ values: JSONObject, at clock: WriteClock? = nil, generation: Int? = nil) -> Self
    {
        .init(key: key, action: .create(.test(values, clock, generation)))
    }
    static func update(_ key: RowKey, _ values: JSONObject, at clock: WriteClock? = nil, generation: Int? = nil) -> Self
    {
        .init(key: key, action: .update(.test(values, clock, generation)))
    }
    static func destroy(_ key: RowKey, at clock: WriteClock? = nil, generation: Int? = nil) -> Self {
        .init(key: key, action: .destroy(generation.map { Tombstone(generation: $0, clock: clock) }))
    }
}

extension RowPatch {
    fileprivate static func test(_ values: JSONObject, _ clock: WriteClock?, _ generation: Int?) -> Self {
        RowPatch(generation: generation, clocks: clock.map { ColumnClocks(common: $0) }, values: values)
    }
}

extension WriteClock {
    /// A clock relative to the model's start time.
    static func at(_ milliseconds: Int64, _ device: String = "deviceAA") -> Self {
        WriteClock(stamp: Stamp(milliseconds: 1_800_000_000_000 + milliseconds), device: device)
    }
}

extension RowVerdict {
    var error: SetError? {
        switch self {
        case .refused(let error): error
        case .gone(let deletion): .gone(deletion)
        case .accepted, .mergedInto: nil
        }
    }
    var won: RowPatch? { if case .accepted(let won) = self { won } else { nil } }
    var isGone: Bool { if case .gone = self { true } else { false } }
    var isAcceptedAsSent: Bool { self == .accepted(won: nil) }
}
