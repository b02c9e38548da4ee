// This source file is part of the Optimist open source project, under the MIT licence.

import OptimistCore
import Testing

@_spi(Internals) @testable import OptimistWire

@Suite(.timeLimit(.minutes(20)))
struct JSONTests {
    @Test(arguments: [
        "null", "true", "[]", "{}", "[1,-2,0]", "9223372036854775807", "-9223372036854775807", "1.5", "-0.25", "1e+20",
        #"{"a":{"b":[null,"x"]},"c":""}"#, #""æ 漢 🎈 \" \\ \n \u0001""#,
    ])
    func `a JSON text round-trips unchanged`(text: String) throws {
        #expect(try JSON(parsing: text.utf8).description == text)
    }

    @Test(arguments: [
        "", " ", "nul", "tru", "[1,]", "{,}", "{\"a\"}", "{\"a\":}", "[1 2]", "01", "-", "1.", ".5", "1e", "+1", "\"",
        "\"\\x\"",
        "\"\\ud800\"", "\"\\udc00\"", "\"\\u12\"", "\"\u{1}\"", "{} {}", "NaN", "1e999", "'a'", "[", "{\"a\":1",
        "\u{FEFF}{}",
    ])
    func `invalid JSON is refused`(text: String) {
        #expect(throws: JSONError.self) { try JSON(parsing: text.utf8) }
    }

    @Test func `an object prints itself as JSON`() {
        #expect("\(["b": 1, "a": ["x", nil]] as JSONObject)" == #"{"b":1,"a":["x",null]}"#)
    }

    /// The replacement character is as long as three bytes of a truncated character, but is valid itself.
    @Test func `bytes that are not UTF-8 are refused`() throws {
        #expect(throws: JSONError.malformed(offset: 1)) { try JSON(parsing: [0x22, 0xC3, 0x28, 0x22]) }
        #expect(throws: JSONError.malformed(offset: 1)) { try JSON(parsing: [0x22, 0xED, 0xA0, 0x80, 0x22]) }
        #expect(throws: JSONError.malformed(offset: 1)) { try JSON(parsing: [0x22, 0xF0, 0x9F, 0x98, 0x22]) }
        #expect(try JSON(parsing: [0x22, 0xEF, 0xBF, 0xBD, 0x22]) == "\u{FFFD}")
    }

    @Test func `a duplicate member is refused, in small and in large objects`() {
        #expect(throws: JSONError.duplicateMember("a")) { try JSON(parsing: #"{"a":1,"b":2,"a":1}"#.utf8) }
        let many = (0..<40).map { "\"m\($0)\":0" }.joined(separator: ",")
        #expect(throws: JSONError.duplicateMember("m3")) { try JSON(parsing: "{\(many),\"m3\":1}".utf8) }
        #expect(throws: JSONError.duplicateMember("é")) { try JSON(parsing: "{\"é\":1,\"\\u00e9\":2}".utf8) }
    }

    @Test func `nesting depth is bounded`() throws {
        let deep = { (depth: Int) in String(repeating: "[", count: depth) + String(repeating: "]", count: depth) }
        #expect(throws: Never.self) { try JSON(parsing: deep(32).utf8) }
        #expect(throws: JSONError.tooDeep(limit: 32)) { try JSON(parsing: deep(33).utf8) }
        #expect(throws: JSONError.tooDeep(limit: 32)) { try JSON(parsing: deep(100_000).utf8) }
    }

    @Test func `texts are equal only if their bytes are`() {
        #expect(JSON.string("\u{E9}") != JSON.string("e\u{301}"))
        #expect(JSON.string("\u{E9}") == JSON.string("é"))
    }

    @Test func `numbers keep their kind`() throws {
        #expect(try JSON(parsing: "9223372036854775808".utf8) == .double(9_223_372_036_854_775_808))
        #expect(try JSON(parsing: "1.0".utf8) == .double(1))
        #expect(try JSON(parsing: "1".utf8) == .int(1))
    }

    @Test func `all 64-bit integers are read exactly, and a number column takes the integers that a double holds`()
        throws
    {
        for number in [Int64.min, .min + 1, .max, 9_007_199_254_740_993] {
            #expect(try JSON(parsing: String(number).utf8) == .int(number))
        }
        #expect(try JSON(parsing: "-9223372036854775809".utf8) == .double(-0x1p63))
        #expect(ColumnType.number.objection(to: .int(.min)) == nil)
        #expect(ColumnType.number.objection(to: .int(1 << 53)) == nil)
        #expect(ColumnType.number.objection(to: .int(.max)) != nil)
        #expect(ColumnType.number.objection(to: .int(9_007_199_254_740_993)) != nil)
    }

    @Test func `objects are equal in any member order and share their canonical bytes`() throws {
        let (a, b) = try (
            JSON(parsing: #"{"x":1,"y":{"p":2,"q":3}}"#.utf8), JSON(parsing: #"{"y":{"q":3,"p":2},"x":1}"#.utf8)
        )
        #expect(a == b)
        #expect(a.hashValue == b.hashValue)
        #expect(a.canonicalBytes == b.canonicalBytes)
        #expect(a != ["x": 1, "y": 2])
    }

    @Test(arguments: 1...200)
    func `any value survives writing and reading`(seed: UInt64) throws {
        var random = SplitMix64(seed: seed)
        let value = JSON.random(depth: 5, using: &random)
        #expect(try JSON(parsing: value.bytes) == value)
    }

    @Test(arguments: 1...200)
    func `no bytes crash the reader`(seed: UInt64) {
        var random = SplitMix64(seed: seed)
        var bytes = JSON.random(depth: 5, using: &random).bytes
        for _ in 0..<3 where !bytes.isEmpty {
            bytes[Int.random(in: 0..<bytes.count, using: &random)] = UInt8.random(in: 0...255, using: &random)
        }
        if let value = try? JSON(parsing: bytes) { #expect((try? JSON(parsing: value.bytes)) == value) }
    }
}

extension JSON {
    static func random(depth: Int, using random: inout some RandomNumberGenerator) -> JSON {
        switch Int.random(in: 0..<(depth > 0 ? 8 : 6), using: &random) {
        case 0: .null
        case 1: .bool(.random(using: &random))
        case 2: .int(.random(in: .min ... .max, using: &random))
        case 3: .double(Double(Int.random(in: -1000...1000, using: &random)) / 8)
        case 4, 5: .string(randomText(using: &random))
        case 6:
            .array(
                (0..<Int.random(in: 0...4, using: &random)).map { _ in JSON.random(depth: depth - 1, using: &random) })
        default:
            .object(
                JSONObject(
                    (0..<Int.random(in: 0...20, using: &random)).map {
                        ("k\($0)", JSON.random(depth: depth - 1, using: &random))
                    }))
        }
    }

    private static func randomText(using random: inout some RandomNumberGenerator) -> String {
        String(
            String.UnicodeScalarView(
                (0..<Int.random(in: 0...8, using: &random)).compactMap { _ in
                    Unicode.Scalar(UInt32.random(in: 0...0x10FFFF, using: &random))
                }))
    }
}
