// This source file is part of the Optimist open source project, under the MIT licence.

import OptimistServer

extension String {
    /// Whether PostgreSQL can store the text. It cannot store zero characters, so no row has an id with one.
    var isStorable: Bool { !utf8.contains(0) }

    /// The text in a form that fits into an index: the text itself, or `#` and its SHA-256 if it has more than 1,000
    /// bytes of UTF-8 or a zero byte.
    ///
    /// PostgreSQL refuses index entries of more than about 2,700 bytes, and zero bytes. No row id and no unique value
    /// begins with `#`.
    var shortKey: String {
        if utf8.count <= 1000, isStorable { return self }
        let hash = SHA256.hash(utf8)
        let digits = Array("0123456789abcdef")
        return "#" + hash.flatMap { [digits[Int($0 >> 4)], digits[Int($0 & 15)]] }
    }

    /// The text with ASCII letters in lower case and the others unchanged, as SQLite's `NOCASE` compares.
    var lowercasedInASCII: String {
        String(decoding: utf8.map { (65...90).contains($0) ? $0 + 32 : $0 }, as: UTF8.self)
    }
}
