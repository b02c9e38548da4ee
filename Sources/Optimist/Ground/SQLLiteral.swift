// This source file is part of the Optimist open source project, under the MIT licence.

import Foundation
import GRDB

/// An SQLite value as an SQL expression that preserves its type and bytes.
///
/// The engine parses literals itself, because SQLite wrongly rounds some doubles near the ends of their range.
///
/// SQLite's `quote()` stops at a zero byte. Here, a text with zero bytes or invalid UTF-8 is written in hexadecimal, so
/// that a literal is always UTF-8 without zero bytes and fits in JSON.
///
/// > Source: SQLite, "SQL Language Expressions", literal values.
enum SQLLiteral {
    private static let castOpening = Array("CAST(X'".utf8)
    private static let castClosing = Array("' AS TEXT)".utf8)
    private static let quote = UInt8(ascii: "'")

    static func text(of value: DatabaseValue) -> String {
        value.withView { String(decoding: bytes(of: $0), as: UTF8.self) }
    }

    static func bytes(of value: ValueView) -> [UInt8] {
        switch value {
        case .null: Array("NULL".utf8)
        case .integer(let number): Array(String(number).utf8)
        case .real(let number): Array(text(of: number).utf8)
        case .text(let bytes) where !bytes.contains(0) && bytes.isUTF8: quoted(bytes)
        case .text(let bytes): castOpening + hex(bytes) + castClosing
        case .blob(let bytes): [UInt8(ascii: "X"), quote] + hex(bytes) + [quote]
        }
    }

    private static func text(of number: Double) -> String {
        number.isFinite ? number.description : number < 0 ? "-9.0e+999" : "9.0e+999"
    }

    private static func quoted(_ bytes: UnsafeRawBufferPointer) -> [UInt8] {
        var literal: [UInt8] = []
        literal.reserveCapacity(bytes.count + 2)
        literal.append(quote)
        if bytes.contains(quote) {
            for byte in bytes {
                if byte == quote { literal.append(quote) }
                literal.append(byte)
            }
        } else {
            literal.append(contentsOf: bytes)
        }
        literal.append(quote)
        return literal
    }

    private static let digits = Array("0123456789ABCDEF".utf8)

    private static func hex(_ bytes: UnsafeRawBufferPointer) -> [UInt8] {
        var hex: [UInt8] = []
        hex.reserveCapacity(2 * bytes.count)
        for byte in bytes {
            hex.append(digits[Int(byte >> 4)])
            hex.append(digits[Int(byte & 15)])
        }
        return hex
    }

    // MARK: - Reading

    /// Returns a literal's value, or nil if the text is not a literal.
    static func parse(_ text: String) -> DatabaseValue? { parse(Array(text.utf8)[...]) }

    /// Whether a literal denotes a value: see ``ValueView/isSame(as:)``.
    static func isLiteral(_ literal: UnsafeRawBufferPointer, of value: ValueView) -> Bool {
        switch value {
        case .integer, .real:
            parse(ArraySlice(literal))?.withView { $0.isSame(as: value) } ?? false
        case .null, .text, .blob: bytes(of: value).withUnsafeBytes { $0.hasSameBytes(as: literal) }
        }
    }

    private static func parse(_ text: ArraySlice<UInt8>) -> DatabaseValue? {
        if text.elementsEqual("NULL".utf8) { return .null }
        guard text.last == quote || text.last == UInt8(ascii: ")") else { return number(text) }
        if text.first == quote, text.count > 1 { return unquoted(text.dropFirst().dropLast()).databaseValue }
        if text.starts(with: castOpening), text.suffix(castClosing.count).elementsEqual(castClosing) {
            let bytes = unhexed(text.dropFirst(castOpening.count).dropLast(castClosing.count))
            return bytes?.withUnsafeBytes { ValueView.text($0).databaseValue }
        }
        guard text.first == UInt8(ascii: "X"), text.dropFirst().first == quote, text.count > 2 else { return nil }
        return unhexed(text.dropFirst(2).dropLast())?.blobValue
    }

    private static func number(_ text: ArraySlice<UInt8>) -> DatabaseValue? {
        let text = String(decoding: text, as: UTF8.self)
        return Int64(text)?.databaseValue ?? Double(text)?.databaseValue
    }

    private static func unquoted(_ text: ArraySlice<UInt8>) -> String {
        if !text.contains(quote) { return String(decoding: text, as: UTF8.self) }
        var bytes: [UInt8] = []
        var isSecond = false
        for byte in text {
            isSecond = byte == quote && !isSecond
            if !isSecond { bytes.append(byte) }
        }
        return String(decoding: bytes, as: UTF8.self)
    }

    private static func unhexed(_ hex: ArraySlice<UInt8>) -> [UInt8]? {
        var bytes: [UInt8] = []
        var high: UInt8?
        for character in hex {
            guard let digit = Character(UnicodeScalar(character)).hexDigitValue.map(UInt8.init) else { return nil }
            if let first = high {
                bytes.append(first << 4 | digit)
                high = nil
            } else {
                high = digit
            }
        }
        return high == nil ? bytes : nil
    }
}

extension [UInt8] {
    var blobValue: DatabaseValue { Data(self).databaseValue }
}
