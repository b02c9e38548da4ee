// This source file is part of the Optimist open source project, under the MIT licence.

import GRDB

/// Reads what SQLite's `quote()` writes.
///
/// > Source: SQLite, "Built-In Scalar SQL Functions", quote(X).
enum SQLLiteral {
    /// The value of a literal, or nil if the text is not a literal.
    static func parse(_ text: String) -> DatabaseValue? {
        if text == "NULL" { return .null }
        if let integer = Int64(text) { return integer.databaseValue }
        if let real = Double(text) { return real.databaseValue }
        guard text.hasSuffix("'") else { return nil }
        if text.hasPrefix("'") {
            return String(text.dropFirst().dropLast()).replacing("''", with: "'").databaseValue
        }
        guard text.hasPrefix("X'") else { return nil }
        return bytes(text.utf8.dropFirst(2).dropLast())?.blobValue
    }

    private static func bytes(_ hex: some Collection<UInt8>) -> [UInt8]? {
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
