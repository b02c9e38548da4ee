// This source file is part of the Optimist open source project, under the MIT licence.

/// The type of a column's values on the wire. Every type allows null unless the column is required.
public enum ColumnType: String, Sendable, CaseIterable {
    /// A string. Its size is the size of its UTF-8.
    case string
    /// True or false.
    case bool
    /// A finite number that a double represents exactly. An integer beyond 2^53 may not qualify.
    case number
    /// An integer with a magnitude of at most 2^53.
    case int
    /// A 64-bit integer as a decimal string, because not every JSON parser reads numbers that large.
    case int64
    /// An RFC 3339 date in UTC with a capital T and Z, such as `2026-11-21T10:00:00.123Z`.
    case date
    /// Bytes, as base64url without padding.
    case data
    /// Any JSON.
    case json
    /// The id of a row of the column's `target` type.
    case ref
    /// Reserved for files, which the protocol does not support yet. The server refuses a schema with this type.
    case blob
    /// An integer that devices add to. A push carries a ``CounterPatch``, a page the sum.
    case counter

    /// Returns why a column of this type cannot hold a value, as a phrase that completes "The column …". Nil if it can.
    /// Null is always allowed.
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
        case .number: "a finite number that a double can represent"
        case .int: "a whole number with a magnitude of at most 2^53"
        case .int64: "a 64-bit whole number as a decimal string"
        case .date: "a UTC date such as \"2026-11-21T10:00:00.123Z\""
        case .data: "base64url without padding"
        case .json: "any JSON"
        case .ref: "the lower-case UUID of a row"
        case .blob: "the id of a blob"
        case .counter: "{\"@total\": n}, a list of such objects, or {\"@add\": n}"
        }
    }
}
