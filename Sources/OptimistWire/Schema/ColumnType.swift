// This source file is part of the Optimist open source project, under the MIT licence.

/// What a column may hold on the wire. Null is allowed everywhere; `required` forbids it.
public enum ColumnType: String, Sendable, CaseIterable {
    case string, bool, number, int, int64, date, data, json, ref, blob, counter

    /// Returns why a value cannot stand in a column of this type, in words that complete "The column …", or nil if it can.
    public func objection(to value: JSON) -> String? {
        if value.isNull { return nil }
        return accepts(value) ? nil : "expects \(expectation)"
    }

    private func accepts(_ value: JSON) -> Bool {
        switch self {
        case .string: value.string != nil
        case .bool: value.bool != nil
        case .number: value.double?.isFinite == true
        case .int: value.int.map { $0.magnitude <= 1 << 53 } ?? false
        case .int64: value.string.flatMap { Int64($0) }.map { String($0) == value.string } ?? false
        case .date: value.string.map(UTCDate.isValid) ?? false
        case .data: value.string.map(Base64URL.isValid) ?? false
        case .json: true
        case .ref: value.string.map(RowID.isValid) ?? false
        case .blob: value.string?.hasPrefix("B") ?? false
        case .counter: CounterPatch(json: value) != nil
        }
    }

    private var expectation: String {
        switch self {
        case .string: "a string"
        case .bool: "true or false"
        case .number: "a finite number"
        case .int: "a whole number of at most 2^53 either way"
        case .int64: "a whole number of 64 bits as a decimal string"
        case .date: "a UTC date such as \"2026-11-21T10:00:00.123Z\""
        case .data: "base64url without padding"
        case .json: "any JSON"
        case .ref: "the lower-case UUID of a row"
        case .blob: "the id of a blob"
        case .counter: "{\"@total\": n}, a list of those, or {\"@add\": n}"
        }
    }
}
