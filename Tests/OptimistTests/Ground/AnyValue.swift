// This source file is part of the Optimist open source project, under the MIT licence.

import OptimistWire

@testable import Optimist

/// A SQLite value of any type, with any bytes.
enum AnyValue: Sendable {
    case null
    case integer(Int64)
    case real(Double)
    case text([UInt8])
    case blob([UInt8])

    func withView<Result>(_ body: (ValueView) -> Result) -> Result {
        switch self {
        case .null: body(.null)
        case .integer(let number): body(.integer(number))
        case .real(let number): body(.real(number))
        case .text(let bytes): bytes.withUnsafeBytes { body(.text($0)) }
        case .blob(let bytes): bytes.withUnsafeBytes { body(.blob($0)) }
        }
    }

    var literal: String { withView { String(decoding: SQLLiteral.bytes(of: $0), as: UTF8.self) } }
}

extension AnyValue {
    /// A random value: a usual one, one at a limit, or one that looks like another type.
    static func random(using random: inout some RandomNumberGenerator) -> AnyValue {
        switch Int.random(in: 0..<10, using: &random) {
        case 0: return .null
        case 1: return .integer(wholes.randomElement(using: &random) ?? 0)
        case 2:
            let whole = Int64.random(in: .min ... .max, using: &random)
            return .integer(whole >> Int64.random(in: 0..<64, using: &random))
        case 3: return .real(reals.randomElement(using: &random) ?? 0)
        case 4:
            let number = Double(bitPattern: .random(in: .min ... .max, using: &random))
            return number.isNaN ? .real(.infinity) : .real(number)
        case 5: return .text(Array((texts.randomElement(using: &random) ?? "").utf8))
        case 6: return .text(JSON.random(depth: 3, using: &random).bytes)
        case 7: return .text(Array(unicode(using: &random).utf8))
        case 8: return .text(bytes(using: &random))
        default: return .blob(bytes(using: &random))
        }
    }

    private static let wholes: [Int64] = [
        0, 1, 2, -1, 9_007_199_254_740_992, -9_007_199_254_740_992, 9_007_199_254_740_993, -9_007_199_254_740_993, .min,
        .max, 1_790_000_000, 1_790_000_000_123, 20_261_121,
    ]
    private static let reals: [Double] = [
        0.1, 0.5, -1.5, 1e300, -1e-300, .leastNonzeroMagnitude, .infinity, -.infinity, 0x1p53, 0x1p63, -0x1p63,
        1_790_000_000.123,
        1_790_000_000.123_456, 1_790_000_000_123.25, -0.25, 1e-10,
    ]
    private static let deepest: String = String(repeating: "[", count: 24) + String(repeating: "]", count: 24)
    private static let texts: [String] = [
        "", "a", "'", "''", "5", "5.0", "1e5", " 7 ", "0x10", "inf", "NULL", "true", "null", "hello", "\"\"", "{}",
        "[]",
        "[1,2]", #"{"a":{"b":[null,true,-0.5]}}"#, #"{"a":1,"a":2}"#, "[1e400]", "[1e-400]", "[18446744073709551615]",
        "[-9223372036854775808]", "[0.1234567890123456789]", #"["\ud800"]"#, #"{"@text":"a"}"#, #"{"@data":"AA"}"#,
        deepest, "[\(deepest)]", "2026-11-21", "2026-11-21 10:00:00", "2026-11-21 10:00:00.123",
        "2026-11-21 10:00:00.123456789", "2026-11-21 10:00:00.1234567890", "2026-11-21T10:00:00.123Z",
        "2026-11-21 10:00", "2026-02-30 10:00:00", "0000-01-01 00:00:00.000", "9999-12-31 23:59:60",
        "00000000-0000-4000-8000-00000000000A", "AAEC", "a\u{0}b", "\u{0}", "\u{301}x", "e\u{301}", "é", "\u{FEFF}a",
        "\u{2028}", "🏳️‍🌈", "\u{FFFF}", "\u{10FFFF}", "a'b\u{0}c''d", "CAST(X'00' AS TEXT)",
    ]

    static func unicode(using random: inout some RandomNumberGenerator) -> String {
        let special: [UInt32] = [0, 0x27, 0x22, 0x5C, 0x301, 0x327, 0x200D, 0xFEFF, 0xFFFD, 0xE9, 0x65, 0x41, 0x1F600]
        let scalars = (0..<Int.random(in: 0...12, using: &random)).compactMap { _ in
            let drawn =
                Bool.random(using: &random)
                ? special.randomElement(using: &random) : UInt32.random(in: 0...0x10FFFF, using: &random)
            return drawn.flatMap(Unicode.Scalar.init)
        }
        return String(String.UnicodeScalarView(scalars))
    }

    private static func bytes(using random: inout some RandomNumberGenerator) -> [UInt8] {
        let count = [0, 1, 2, 16, 36].randomElement(using: &random) ?? 0
        return (0..<count).map { _ in .random(in: 0...255, using: &random) }
    }
}

extension JSON {
    fileprivate static func random(depth: Int, using random: inout some RandomNumberGenerator) -> JSON {
        switch Int.random(in: 0..<(depth > 0 ? 7 : 5), using: &random) {
        case 0: return .null
        case 1: return .bool(.random(using: &random))
        case 2: return .int(.random(in: .min ... .max, using: &random))
        case 3: return .double(Double(Int.random(in: -1000...1000, using: &random)) / 8)
        case 4: return .string(AnyValue.unicode(using: &random))
        case 5:
            let count = Int.random(in: 0...3, using: &random)
            return .array((0..<count).map { _ in JSON.random(depth: depth - 1, using: &random) })
        default:
            let count = Int.random(in: 0...3, using: &random)
            return .object(
                JSONObject(
                    (0..<count).map {
                        ("\($0)" + AnyValue.unicode(using: &random), JSON.random(depth: depth - 1, using: &random))
                    }))
        }
    }
}
