// This source file is part of the Optimist open source project, under the MIT licence.

/// A JSON value as it stands on the wire.
///
/// Whole numbers that fit are `int`; every other number is a `double`, which is always finite.
public enum JSON: Hashable, Sendable {
    /// `null`.
    case null
    /// `true` or `false`.
    case bool(Bool)
    /// A whole number of 64 bits, written without a fraction and exponent.
    case int(Int64)
    /// Every other number. It is finite: the reader refuses the others, and writing one is a programming error.
    case double(Double)
    /// A text. Two texts are equal if their UTF-8 is.
    case string(String)
    /// A list.
    case array([JSON])
    /// An object, with its members in the order in which they were written.
    case object(JSONObject)
}

extension JSON {
    /// Texts are compared by their bytes: Swift's own comparison holds a composed and a decomposed letter to be one, which
    /// another implementation, and SQLite, would not.
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

    /// The text, or nil if this is no string.
    public var string: String? { if case .string(let value) = self { value } else { nil } }
    /// The truth value, or nil if this is neither `true` nor `false`.
    public var bool: Bool? { if case .bool(let value) = self { value } else { nil } }
    /// The whole number, or nil if this is another value. A number written as `1.0` is a ``double``, not an `int`.
    public var int: Int64? { if case .int(let value) = self { value } else { nil } }
    /// The elements, or nil if this is no array.
    public var array: [JSON]? { if case .array(let value) = self { value } else { nil } }
    /// The members, or nil if this is no object.
    public var object: JSONObject? { if case .object(let value) = self { value } else { nil } }

    /// The number, whole or not, or nil if this is another value. A whole number beyond 2^53 is rounded.
    public var double: Double? {
        switch self {
        case .int(let value): Double(value)
        case .double(let value): value
        default: nil
        }
    }

    /// The member of an object, or nil if this is not an object or has no such member.
    public subscript(key: String) -> JSON? { object?[key] }
}

extension JSON? {
    /// Reads a member that may be left out or null. Nil if it is there and of another type.
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
