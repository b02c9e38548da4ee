// This source file is part of the Optimist open source project, under the MIT licence.

/// A JSON value.
///
/// Integers that fit in 64 bits are `int`; every other number is a finite `double`.
public enum JSON: Hashable, Sendable {
    /// `null`.
    case null
    /// `true` or `false`.
    case bool(Bool)
    /// A 64-bit integer, written without a fraction or exponent.
    case int(Int64)
    /// Any other number. It must be finite: the parser rejects numbers that are not finite, and writing one is a
    /// programming error.
    case double(Double)
    /// A string. Strings are equal if their UTF-8 is equal.
    case string(String)
    /// An array.
    case array([JSON])
    /// An object, with its members in their original order.
    case object(JSONObject)
}

extension JSON {
    /// Compares strings by their bytes. Swift's own comparison treats composed and decomposed letters as equal; SQLite
    /// and other implementations do not.
    public static func == (a: JSON, b: JSON) -> Bool {
        switch (a, b) {
        case (.null, .null): true
        case (.bool(let a), .bool(let b)): a == b
        case (.int(let a), .int(let b)): a == b
        case (.double(let a), .double(let b)): a == b
        case (.string(let a), .string(let b)): a.utf8.elementsEqual(b.utf8)
        case (.array(let a), .array(let b)): a == b
        case (.object(let a), .object(let b)): a == b
        default: false
        }
    }

    /// Whether this is `null`.
    public var isNull: Bool { self == .null }

    /// The string, or nil if this is not a string.
    public var string: String? { if case .string(let value) = self { value } else { nil } }
    /// The boolean, or nil if this is not a boolean.
    public var bool: Bool? { if case .bool(let value) = self { value } else { nil } }
    /// The integer, or nil if this is another value. A number written as `1.0` is a ``double``, not an `int`.
    public var int: Int64? { if case .int(let value) = self { value } else { nil } }
    /// The elements, or nil if this is not an array.
    public var array: [JSON]? { if case .array(let value) = self { value } else { nil } }
    /// The members, or nil if this is not an object.
    public var object: JSONObject? { if case .object(let value) = self { value } else { nil } }

    /// The number, integer or not, or nil if this is not a number. An integer beyond 2^53 is rounded.
    public var double: Double? {
        switch self {
        case .int(let value): Double(value)
        case .double(let value): value
        default: nil
        }
    }

    /// The member of an object, or nil if this is not an object or lacks the member.
    public subscript(key: String) -> JSON? { object?[key] }
}

extension JSON? {
    /// Reads a member that may be missing or null. Returns nil if it has the wrong type.
    func optional<Value>(_ read: (JSON) -> Value?) -> Value?? {
        guard let self, !self.isNull else { return .some(nil) }
        return read(self).map { .some($0) }
    }
}

extension JSON: ExpressibleByStringLiteral, ExpressibleByIntegerLiteral, ExpressibleByFloatLiteral,
    ExpressibleByBooleanLiteral, ExpressibleByArrayLiteral, ExpressibleByDictionaryLiteral, ExpressibleByNilLiteral
{
    public init(stringLiteral value: String) { self = .string(value) }
    public init(integerLiteral value: Int64) { self = .int(value) }
    public init(floatLiteral value: Double) { self = .double(value) }
    public init(booleanLiteral value: Bool) { self = .bool(value) }
    public init(arrayLiteral elements: JSON...) { self = .array(elements) }
    public init(dictionaryLiteral elements: (String, JSON)...) { self = .object(JSONObject(elements)) }
    public init(nilLiteral: ()) { self = .null }
}

extension JSON: CustomStringConvertible {
    /// The compact JSON text.
    public var description: String { String(decoding: bytes, as: UTF8.self) }
}
