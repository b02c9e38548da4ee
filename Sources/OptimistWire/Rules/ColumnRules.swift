// This source file is part of the Optimist open source project, under the MIT licence.

/// Rules for the values of one column that need no code. The device checks them at the write, and the server checks them
/// when it receives the row.
///
/// Null is allowed unless the column is required. A rule says only what may be written: values that are
/// stored already stay.
public struct ColumnRules: Hashable, Sendable {
    /// The smallest number. For a column of whole numbers it is below 2^53 either way. Nil: there is none.
    public var min: Double?
    /// The largest number. For a column of whole numbers it is below 2^53 either way. Nil: there is none.
    public var max: Double?
    /// The most Unicode scalars of a text, at least 1. An emoji may have several. Nil: any number.
    public var maxLength: Int?
    /// The pattern that a whole text matches. Nil: any text.
    public var pattern: TextPattern?
    /// The values that are allowed, in their form on the wire. Nil: all values.
    public var oneOf: [JSON]?

    /// Makes rules, unchecked: a store and a server check them when they start. Default: none.
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

    /// Whether there is no rule.
    package var isEmpty: Bool { self == ColumnRules() }

    /// Returns which rule a value breaks, in words that complete "The column …" and never contain the value. Nil: it
    /// breaks none. The value fits the column's type.
    package func objection(to value: JSON) -> String? { objection(to: value) { $0.matches($1) } }

    /// The same, where the caller may know already whether a text matches the pattern.
    package func objection(to value: JSON, matches: (TextPattern, String) -> Bool) -> String? {
        if value.isNull { return nil }
        // A 64-bit number stands in a text.
        if let number = value.double ?? (min == nil && max == nil ? nil : value.string.flatMap(Double.init)) {
            if let min, number < min { return "breaks the rule \"min\": the smallest number is \(JSON(number: min))" }
            if let max, number > max { return "breaks the rule \"max\": the largest number is \(JSON(number: max))" }
        }
        if let text = value.string {
            if let maxLength, text.unicodeScalars.count > maxLength {
                return "breaks the rule \"maxLength\": a text has at most \(maxLength) Unicode scalars"
            }
            if let pattern, !matches(pattern, text) {
                return "breaks the rule \"pattern\": a text matches \(pattern)"
            }
        }
        if let oneOf, !oneOf.contains(where: { Self.isSame($0, value) }) {
            return "breaks the rule \"enum\": the value is \(Self.words(oneOf))"
        }
        return nil
    }

    /// Returns what is wrong with the rules for a column of a type: sentences that follow the column's name. Empty:
    /// nothing.
    package func faults(for type: ColumnType) -> [String] {
        var faults: [String] = []
        let isNumber = [.number, .int, .int64].contains(type)
        if min != nil || max != nil {
            if !isNumber { faults.append("has \"min\" or \"max\" and holds no numbers.") }
            if [min, max].contains(where: { !Self.isBound($0, of: type) }) {
                faults.append("needs a finite \"min\" and \"max\", for whole numbers below 2^53 either way.")
            }
            if let min, let max, min > max { faults.append("has a \"min\" above its \"max\", which no value fits.") }
        }
        if type != .string, maxLength != nil || pattern != nil {
            faults.append("has \"maxLength\" or \"pattern\" and holds no texts.")
        }
        if let maxLength, maxLength < 1 { faults.append("has a \"maxLength\" below 1.") }
        if let fault = pattern?.fault { faults.append("has a \"pattern\" that cannot be read: \(fault)") }
        if let oneOf {
            if !isNumber, type != .string { faults.append("has an \"enum\" and holds neither texts nor numbers.") }
            if oneOf.isEmpty { faults.append("has an empty \"enum\", which no value fits.") }
            if oneOf.contains(where: { $0.isNull || type.objection(to: $0) != nil }) {
                faults.append("has a value in its \"enum\" that the column cannot hold.")
            }
        }
        return faults
    }

    /// At most eight values, because a sentence is read.
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
    /// The members of a column's JSON that hold rules.
    @_spi(Internals) public static let members: Set = ["min", "max", "maxLength", "pattern", "enum"]

    /// Reads the rules among a column's members, and leaves out those that have no readable value.
    ///
    /// - Parameters:
    ///   - json: The column's members in a schema.
    ///   - note: Receives a sentence, which follows the column's name, for each of those.
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

    /// The members of the rules, as ``init(members:note:)`` reads them.
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
    /// A number in its shortest form: `3` and not `3.0`.
    fileprivate init(number: Double) {
        self = Int64(exactly: number).map(JSON.int) ?? (number.isFinite ? .double(number) : .null)
    }
}
