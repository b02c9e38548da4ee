// This source file is part of the Optimist open source project, under the MIT licence.

/// Declarative rules for the values of one column. The device checks them when a row is written, and the server when it
/// receives the row.
///
/// Null is allowed unless the column is required. Rules apply to writes only: stored values stay.
public struct ColumnRules: Hashable, Sendable {
    /// The smallest number. For integer columns its magnitude is below 2^53. Default: nil, no limit.
    public var min: Double?
    /// The largest number. For integer columns its magnitude is below 2^53. Default: nil, no limit.
    public var max: Double?
    /// The maximum number of Unicode scalars in a text, at least 1. An emoji may have several. Default: nil, no limit.
    public var maxLength: Int?
    /// The pattern that the complete text must match. Default: nil, any text.
    public var pattern: TextPattern?
    /// The allowed values, in their wire form. Default: nil, any value.
    public var oneOf: [JSON]?

    /// Makes rules without checking them: a store or server checks the rules when it starts. Default: no rules.
    public init(
        min: Double? = nil, max: Double? = nil, maxLength: Int? = nil, pattern: TextPattern? = nil,
        oneOf: [JSON]? = nil
    ) {
        self.min = min
        self.max = max
        self.maxLength = maxLength
        self.pattern = pattern
        self.oneOf = oneOf
    }

    package var isEmpty: Bool { self == ColumnRules() }

    /// Returns how a value breaks the rules, as a phrase that completes "The column …" and never contains the value.
    /// Nil if the value is allowed. The value must fit the column's type.
    package func objection(to value: JSON) -> String? { objection(to: value) { $0.matches($1) } }

    /// The same, but calls `matches` to match patterns, so that the caller can cache them.
    package func objection(to value: JSON, matches: (TextPattern, String) -> Bool) -> String? {
        if value.isNull { return nil }
        // A 64-bit number is a string on the wire.
        if let number = value.double ?? (min == nil && max == nil ? nil : value.string.flatMap(Double.init)) {
            if let min, number < min { return "breaks the rule \"min\": the minimum is \(JSON(number: min))" }
            if let max, number > max { return "breaks the rule \"max\": the maximum is \(JSON(number: max))" }
        }
        if let text = value.string {
            if let maxLength, text.unicodeScalars.count > maxLength {
                return "breaks the rule \"maxLength\": the text must have at most \(maxLength) Unicode scalars"
            }
            if let pattern, !matches(pattern, text) {
                return "breaks the rule \"pattern\": the text must match \(pattern)"
            }
        }
        if let oneOf, !oneOf.contains(where: { Self.isSame($0, value) }) {
            return "breaks the rule \"enum\": the value must be \(Self.words(oneOf))"
        }
        return nil
    }

    /// Returns the faults of the rules for a column type. Each is a sentence that lacks its subject, the column's name.
    package func faults(for type: ColumnType) -> [String] {
        var faults: [String] = []
        let isNumber = [.number, .int, .int64].contains(type)
        if min != nil || max != nil {
            if !isNumber { faults.append("has \"min\" or \"max\" but is not a number column.") }
            if [min, max].contains(where: { !Self.isBound($0, of: type) }) {
                faults.append("needs a finite \"min\" and \"max\", below 2^53 in magnitude for whole numbers.")
            }
            if let min, let max, min > max { faults.append("has a \"min\" above its \"max\", so no value fits.") }
        }
        if type != .string, maxLength != nil || pattern != nil {
            faults.append("has \"maxLength\" or \"pattern\" but is not a string column.")
        }
        if let maxLength, maxLength < 1 { faults.append("has a \"maxLength\" below 1.") }
        if let fault = pattern?.fault { faults.append("has a \"pattern\" that cannot be read: \(fault)") }
        if let oneOf {
            if !isNumber, type != .string { faults.append("has an \"enum\" but holds neither strings nor numbers.") }
            if oneOf.isEmpty { faults.append("has an empty \"enum\", so no value fits.") }
            if oneOf.contains(where: { $0.isNull || type.objection(to: $0) != nil }) {
                faults.append("has a value in its \"enum\" that the column cannot hold.")
            }
        }
        return faults
    }

    /// Lists at most eight values, so that the sentence stays readable.
    private static func words(_ values: [JSON]) -> String {
        let shown = values.prefix(mostShown).map(\.description).joined(separator: ", ")
        if values.count == 1 { return shown }
        let rest = values.count - mostShown
        return "one of \(shown)" + (rest > 0 ? " and \(rest) more" : "")
    }

    private static let mostShown = 8

    private static func isBound(_ bound: Double?, of type: ColumnType) -> Bool {
        guard let bound else { return true }
        return bound.isFinite && (type == .number || bound.magnitude < 0x1p53)
    }

    private static func isSame(_ one: JSON, _ other: JSON) -> Bool {
        if let number = one.double { return number == other.double }
        return one == other
    }
}

extension ColumnRules {
    /// The names of a column's JSON members that hold rules.
    @_spi(Internals) public static let members: Set = ["min", "max", "maxLength", "pattern", "enum"]

    /// Reads the rules from a column's members and skips rules that it cannot read.
    ///
    /// - Parameters:
    ///   - json: The column's members in a schema.
    ///   - note: Called for each skipped rule, with a sentence that lacks its subject, the column's name.
    package init(members json: JSON, note: (String) -> Void) {
        func read<Value>(_ name: String, _ expectation: String, _ value: (JSON) -> Value?) -> Value? {
            guard let member = json[name] else { return nil }
            if let value = value(member) { return value }
            note("needs \(expectation) as its \"\(name)\".")
            return nil
        }
        self.init(
            min: read("min", "a number", \.double), max: read("max", "a number", \.double),
            maxLength: read("maxLength", "a whole number") { $0.int.flatMap(Int.init(exactly:)) },
            pattern: read("pattern", "a text") { $0.string.map { TextPattern($0) } },
            oneOf: read("enum", "a list", \.array))
    }

    package var json: JSONObject {
        var object = JSONObject()
        if let min { object.append("min", JSON(number: min)) }
        if let max { object.append("max", JSON(number: max)) }
        if let maxLength { object.append("maxLength", .int(Int64(maxLength))) }
        if let pattern { object.append("pattern", .string(pattern.text)) }
        if let oneOf { object.append("enum", .array(oneOf)) }
        return object
    }
}

extension JSON {
    /// A number in its shortest form: `3` instead of `3.0`.
    fileprivate init(number: Double) {
        self = Int64(exactly: number).map(JSON.int) ?? (number.isFinite ? .double(number) : .null)
    }
}
