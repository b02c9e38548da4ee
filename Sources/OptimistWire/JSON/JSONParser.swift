// This source file is part of the Optimist open source project, under the MIT licence.

/// Why a text is not JSON that the protocol accepts.
public enum JSONError: Error, Equatable, Sendable {
    /// The text violates RFC 8259 at this byte offset, or contains a number that no column can hold.
    case malformed(offset: Int)
    /// An object has a duplicate member. Parsers disagree on which one counts, so the text is refused.
    case duplicateMember(String)
    /// Arrays and objects are nested beyond the limit.
    case tooDeep(limit: Int)
}

extension JSON {
    /// Parses exactly one JSON value.
    ///
    /// The parser is stricter than most, so that both sides always see the same value: it accepts only UTF-8, refuses
    /// duplicate members and limits nesting.
    ///
    /// - Parameters:
    ///   - bytes: The complete text.
    ///   - maxDepth: The maximum nesting depth of arrays and objects. Default: 32.
    /// - Throws: ``JSONError``.
    /// - Complexity: O(length).
    ///
    /// > Source: RFC 8259. Documentation/Decisions/0002-own-json-reader.md explains why Foundation's parser is not
    /// used.
    public init(parsing bytes: some Sequence<UInt8>, maxDepth: Int = 32) throws(JSONError) {
        self = try JSONParser.parse(bytes, maxDepth: maxDepth, isExact: false)
    }

    /// Parses like ``init(parsing:maxDepth:)``, but refuses numbers that a double cannot represent: those with more
    /// than 17 significant digits that are not 64-bit integers, and those that underflow to zero. A fraction of 16 or
    /// 17 digits becomes the nearest double.
    package init(parsingExactly bytes: some Sequence<UInt8>, maxDepth: Int = 32) throws(JSONError) {
        self = try JSONParser.parse(bytes, maxDepth: maxDepth, isExact: true)
    }
}

/// Parses a buffer in one pass.
private struct JSONParser {
    let input: UnsafeBufferPointer<UInt8>
    let maxDepth: Int
    let isExact: Bool
    var position = 0
    var depth = 0

    init(input: UnsafeBufferPointer<UInt8>, maxDepth: Int, isExact: Bool) {
        self.input = input
        self.maxDepth = maxDepth
        self.isExact = isExact
    }

    static func parse(_ bytes: some Sequence<UInt8>, maxDepth: Int, isExact: Bool) throws(JSONError) -> JSON {
        let buffer = ContiguousArray(bytes)
        let result: Result<JSON, JSONError> = buffer.withUnsafeBufferPointer { buffer in
            var parser = JSONParser(input: buffer, maxDepth: maxDepth, isExact: isExact)
            do throws(JSONError) { return .success(try parser.parseDocument()) } catch { return .failure(error) }
        }
        return try result.get()
    }

    mutating func parseDocument() throws(JSONError) -> JSON {
        let value = try parseValue()
        skipSpace()
        guard position == input.count else { throw malformed }
        return value
    }

    private var malformed: JSONError { .malformed(offset: position) }
    private var next: UInt8? { position < input.count ? input[position] : nil }

    private mutating func skipSpace() {
        while let byte = next, byte == 0x20 || byte == 0x0A || byte == 0x0D || byte == 0x09 { position += 1 }
    }

    private mutating func parseValue() throws(JSONError) -> JSON {
        skipSpace()
        switch next {
        case UInt8(ascii: "{"): return .object(try parseObject())
        case UInt8(ascii: "["): return .array(try parseArray())
        case UInt8(ascii: "\""): return .string(try parseString())
        case UInt8(ascii: "t"): return try parseWord("true", .bool(true))
        case UInt8(ascii: "f"): return try parseWord("false", .bool(false))
        case UInt8(ascii: "n"): return try parseWord("null", .null)
        default: return try parseNumber()
        }
    }

    private mutating func parseWord(_ word: StaticString, _ value: JSON) throws(JSONError) -> JSON {
        let end = position + word.utf8CodeUnitCount
        guard end <= input.count else { throw malformed }
        for offset in 0..<word.utf8CodeUnitCount where input[position + offset] != word.utf8Start[offset] {
            throw malformed
        }
        position = end
        return value
    }

    private mutating func enter() throws(JSONError) {
        position += 1
        depth += 1
        guard depth <= maxDepth else { throw .tooDeep(limit: maxDepth) }
        skipSpace()
    }

    private mutating func parseArray() throws(JSONError) -> [JSON] {
        try enter()
        defer { depth -= 1 }
        var elements: [JSON] = []
        if next == UInt8(ascii: "]") {
            position += 1
            return elements
        }
        while true {
            elements.append(try parseValue())
            if try !parseSeparator(end: UInt8(ascii: "]")) { return elements }
        }
    }

    private mutating func parseObject() throws(JSONError) -> JSONObject {
        try enter()
        defer { depth -= 1 }
        var members = MemberList()
        if next == UInt8(ascii: "}") {
            position += 1
            return JSONObject()
        }
        while true {
            skipSpace()
            guard next == UInt8(ascii: "\"") else { throw malformed }
            let key = try parseString()
            skipSpace()
            guard next == UInt8(ascii: ":") else { throw malformed }
            position += 1
            guard members.add(key, try parseValue()) else { throw .duplicateMember(key) }
            if try !parseSeparator(end: UInt8(ascii: "}")) { return JSONObject(members.list) }
        }
    }

    /// Returns whether another element follows.
    private mutating func parseSeparator(end: UInt8) throws(JSONError) -> Bool {
        skipSpace()
        guard let byte = next, byte == UInt8(ascii: ",") || byte == end else { throw malformed }
        position += 1
        return byte != end
    }
}

/// The members of an object during parsing, without duplicates. Short lists are searched, long ones indexed.
private struct MemberList {
    var list: [JSONObject.Member] = []
    private var index: Set<MemberName> = []

    mutating func add(_ key: String, _ value: JSON) -> Bool {
        if list.count < 16 {
            if list.contains(where: { MemberName.areSame($0.key, key) }) { return false }
        } else {
            if index.isEmpty { index = Set(list.map { MemberName($0.key) }) }
            if !index.insert(MemberName(key)).inserted { return false }
        }
        list.append((key, value))
        return true
    }
}

// MARK: - Strings and numbers

extension JSONParser {
    fileprivate mutating func parseString() throws(JSONError) -> String {
        position += 1
        var result = try parsePlainText()
        while next == UInt8(ascii: "\\") {
            position += 1
            result.unicodeScalars.append(try parseEscape())
            result += try parsePlainText()
        }
        guard next == UInt8(ascii: "\"") else { throw malformed }
        position += 1
        return result
    }

    private mutating func parsePlainText() throws(JSONError) -> String {
        let run = PlainText(in: input, from: position)
        let bytes = UnsafeBufferPointer(rebasing: input[position..<run.end])
        // Decoding replaces invalid UTF-8, so the bytes then differ. The validating initializer would look up its
        // generic types in the runtime on each call, which took a third of all parsing time.
        let text = String(decoding: bytes, as: UTF8.self)
        guard run.isASCII || text.utf8.elementsEqual(bytes) else { throw malformed }
        position = run.end
        return text
    }

    private mutating func parseEscape() throws(JSONError) -> Unicode.Scalar {
        guard let byte = next else { throw malformed }
        position += 1
        switch byte {
        case UInt8(ascii: "\""): return "\""
        case UInt8(ascii: "\\"): return "\\"
        case UInt8(ascii: "/"): return "/"
        case UInt8(ascii: "b"): return "\u{8}"
        case UInt8(ascii: "f"): return "\u{C}"
        case UInt8(ascii: "n"): return "\n"
        case UInt8(ascii: "r"): return "\r"
        case UInt8(ascii: "t"): return "\t"
        case UInt8(ascii: "u"): return try parseUnicodeEscape()
        default: throw malformed
        }
    }

    private mutating func parseUnicodeEscape() throws(JSONError) -> Unicode.Scalar {
        let unit = try parseHex4()
        if let scalar = Unicode.Scalar(unit) { return scalar }
        guard 0xD800..<0xDC00 ~= unit, next == UInt8(ascii: "\\") else { throw malformed }
        position += 1
        guard next == UInt8(ascii: "u") else { throw malformed }
        position += 1
        let low = try parseHex4()
        guard 0xDC00..<0xE000 ~= low,
            let scalar = Unicode.Scalar(0x10000 + (UInt32(unit) - 0xD800) << 10 + UInt32(low) - 0xDC00)
        else { throw malformed }
        return scalar
    }

    private mutating func parseHex4() throws(JSONError) -> UInt16 {
        guard position + 4 <= input.count else { throw malformed }
        var value: UInt16 = 0
        for _ in 0..<4 {
            guard let digit = hexDigit(input[position]) else { throw malformed }
            value = value << 4 | UInt16(digit)
            position += 1
        }
        return value
    }

    fileprivate mutating func parseNumber() throws(JSONError) -> JSON {
        let start = position
        let isNegative = next == UInt8(ascii: "-")
        if isNegative { position += 1 }
        let digitsStart = position
        var magnitude: UInt64 = 0
        var fits = true
        while let digit = nextDigit {
            let (product, carried) = magnitude.multipliedReportingOverflow(by: 10)
            let (sum, overflowed) = product.addingReportingOverflow(UInt64(digit))
            fits = fits && !carried && !overflowed
            magnitude = sum
            position += 1
        }
        let digits = position - digitsStart
        guard digits > 0, digits == 1 || input[digitsStart] != UInt8(ascii: "0") else { throw malformed }
        let isWhole = try !skipFraction()
        if isWhole, fits, let whole = Self.whole(magnitude, isNegative: isNegative) { return .int(whole) }
        let literal = UnsafeBufferPointer(rebasing: input[start..<position])
        guard let value = Double(String(decoding: literal, as: UTF8.self)), value.isFinite else { throw malformed }
        if isExact {
            let digits = Self.significantDigits(of: literal)
            if digits > 17 || (value == 0 && digits > 0) { throw malformed }
        }
        return .double(value)
    }

    private static func whole(_ magnitude: UInt64, isNegative: Bool) -> Int64? {
        if isNegative, magnitude == Int64.min.magnitude { return .min }
        return Int64(exactly: magnitude).map { isNegative ? -$0 : $0 }
    }

    /// The number of digits from the first to the last nonzero one. A double holds 17.
    private static func significantDigits(of literal: UnsafeBufferPointer<UInt8>) -> Int {
        var (count, zeros) = (0, 0)
        for byte in literal {
            if byte | 0x20 == UInt8(ascii: "e") { break }
            guard byte &- UInt8(ascii: "0") < 10 else { continue }
            if byte == UInt8(ascii: "0") {
                zeros += count > 0 ? 1 : 0
            } else {
                (count, zeros) = (count + zeros + 1, 0)
            }
        }
        return count
    }

    private var nextDigit: UInt8? {
        guard let byte = next, byte &- UInt8(ascii: "0") < 10 else { return nil }
        return byte &- UInt8(ascii: "0")
    }

    /// Skips a fraction and an exponent. Returns whether either was present.
    private mutating func skipFraction() throws(JSONError) -> Bool {
        var found = false
        if next == UInt8(ascii: ".") {
            position += 1
            try skipDigits()
            found = true
        }
        if next == UInt8(ascii: "e") || next == UInt8(ascii: "E") {
            position += 1
            if next == UInt8(ascii: "+") || next == UInt8(ascii: "-") { position += 1 }
            try skipDigits()
            found = true
        }
        return found
    }

    private mutating func skipDigits() throws(JSONError) {
        guard nextDigit != nil else { throw malformed }
        while nextDigit != nil { position += 1 }
    }
}

/// Returns the value of a hexadecimal digit in either case.
func hexDigit(_ byte: UInt8) -> UInt8? {
    switch byte {
    case UInt8(ascii: "0")...UInt8(ascii: "9"): byte - UInt8(ascii: "0")
    case UInt8(ascii: "a")...UInt8(ascii: "f"): byte - UInt8(ascii: "a") + 10
    case UInt8(ascii: "A")...UInt8(ascii: "F"): byte - UInt8(ascii: "A") + 10
    default: nil
    }
}
