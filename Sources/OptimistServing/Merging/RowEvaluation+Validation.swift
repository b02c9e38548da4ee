// This source file is part of the Optimist open source project, under the MIT licence.

@_spi(Internals) import OptimistWire

extension RowEvaluation {
    /// Checks the values of a patch. A value that is too large is `tooLarge`; any other value that its column cannot
    /// hold is `invalidProperties`.
    ///
    /// An older app that replaces a row also sends columns that it does not know. For a counter it sends the sum, which
    /// a create accepts (L1).
    func objection(to patch: RowPatch, isCreate: Bool, _ texts: MatchedTexts) -> RowStep? {
        var invalid: [(column: String, why: String)] = []
        var oversized: [(column: String, why: String)] = []
        for (column, value) in patch.values {
            if !hasOwnClocks, isAsItIs(column, value) { continue }
            guard let definition = type.columns[column] else {
                invalid.append((column, "is unknown"))
                continue
            }
            if definition.type == .counter, patch.clocks == nil, Self.needsClock(value) {
                invalid.append((column, "needs the clock of its total"))
            }
            if definition.type == .counter, isCreate, patch.clocks != nil, Self.isSum(value) { continue }
            guard let why = definition.objection(to: value, matches: texts.isMatch) else { continue }
            if definition.isTooLarge(value) { oversized.append((column, why)) } else { invalid.append((column, why)) }
        }
        let (code, found) = invalid.isEmpty ? ("tooLarge", oversized) : ("invalidProperties", invalid)
        guard let first = found.first else { return nil }
        return refused(code, "The column \"\(first.column)\" \(first.why).", found.map(\.column))
    }

    /// Whether a client without clocks sends back the value it received. Such a value is not written, so the stored
    /// value does not have to be valid.
    private func isAsItIs(_ column: String, _ value: JSON) -> Bool {
        switch type.columns[column]?.type {
        case nil: false
        case .counter: value == .int(row.sum(of: column))
        case _: row.isAlive && row.cells[column]?.value ?? .null == value
        }
    }

    private static func isSum(_ value: JSON) -> Bool {
        value.int.map { $0.magnitude <= CounterPatch.limit } ?? false
    }

    private static func needsClock(_ value: JSON) -> Bool {
        guard case .totals(let totals) = CounterPatch(json: value) else { return false }
        return totals.contains { $0.clock == nil }
    }

    var missingColumns: [String] {
        type.columns.filter { $0.value.isRequired && row.cells[$0.key]?.value.isNull != false }.map(\.key).sorted()
    }

    /// Checks required columns when a life begins. A row that is already alive may lack a column that a later schema
    /// requires.
    func objectionToBirth() -> RowStep? {
        let missing = missingColumns
        return missing.first.map { refused("invalidProperties", "The column \"\($0)\" is required.", missing) }
    }

    /// Checks the row as if the given columns had also changed.
    func objection(by validation: RowValidation, alsoOf columns: Set<String> = []) -> SetError? {
        validation.objection(to: row, at: key, of: type, taken: taken.union(columns))
    }

    func objectionToSize() -> RowStep? { RowWeight(of: row, memory).objection.map(RowStep.refused) }
}

extension RowValidation {
    /// A row that took no value, such as a row in a repeated push, is not checked.
    func objection(to row: MergeRow, at key: RowKey, of type: TypeSchema, taken: Set<String>) -> SetError? {
        guard row.isAlive, !taken.isEmpty, checks(key.type) else { return nil }
        let checked = CheckedRow(type: key.type, id: key.id, values: row.shown(as: type), changed: taken)
        return fault(in: checked).map { fault in
            SetError("invalidProperties", fault.message, properties: fault.columns, code: fault.code)
        }
    }
}

extension MergeRow {
    /// The values that users see, by column. A column without a value is null, and a counter is its sum.
    func shown(as type: TypeSchema) -> JSONObject {
        JSONObject(
            type.columns.map { column, definition in
                (column, definition.type == .counter ? .int(sum(of: column)) : cells[column]?.value ?? .null)
            })
    }
}

extension RowMemory {
    var weight: Int {
        replaced.values.joined().reduce(0) { $0 + $1.key.utf8.count + $1.value.given.weight + $1.value.stamp.weight }
    }
}

extension WriteClock {
    var weight: Int { 17 + device.utf8.count }
}

extension JSON {
    /// The size of a value, in bytes of text before escaping.
    var weight: Int {
        switch self {
        case .null, .bool, .int, .double: 8
        case .string(let text): text.utf8.count
        case .array(let elements): elements.reduce(2) { $0 + $1.weight + 1 }
        case .object(let object): object.members.reduce(2) { $0 + $1.key.utf8.count + $1.value.weight + 2 }
        }
    }
}
