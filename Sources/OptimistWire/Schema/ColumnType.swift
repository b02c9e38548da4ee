// This source file is part of the Optimist open source project, under the MIT licence.

/// What a column may hold on the wire. Null is allowed everywhere; `required` forbids it.
public enum ColumnType: String, Sendable, CaseIterable {
    /// A string. Its size is that of its UTF-8.
    case string
    /// True or false.
    case bool
    /// A finite number that a double holds: a whole number beyond 2^53 may not fit.
    case number
    /// A whole number of at most 2^53 either way.
    case int
    /// A whole number of 64 bits, as a decimal string: not every JSON reader holds so large a number.
    case int64
    /// A moment in the form of RFC 3339, in UTC with a capital T and Z, such as `2026-11-21T10:00:00.123Z`.
    case date
    /// Bytes, as base64url text without padding.
    case data
    /// Any JSON.
    case json
    /// The id of a row of the column's `target` type.
    case ref
    /// Reserved for files, which the protocol does not have yet. The server refuses a schema with it.
    case blob
    /// A whole number that devices add to. A push carries a ``CounterPatch``, a page the sum.
    case counter

    /// Returns why a value cannot stand in a column of this type, in words that complete "The column …". Nil if it can;
    /// null always can.
    package func objection(to value: JSON) -> String? {
        if value.isNull { return nil }
        return accepts(value) ? nil : "expects \(expectation)"
    }

    private func accepts(_ value: JSON) -> Bool {
        switch self {
        case .string: value.string != nil
        case .bool: value.bool != nil
        case .number: value.int.map { Int64(exactly: Double($0)) == $0 } ?? (value.double?.isFinite == true)
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
        case .number: "a finite number that a double holds"
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
