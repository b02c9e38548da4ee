// This source file is part of the Optimist open source project, under the MIT licence.

import Crypto

extension String {
    /// The text in a form that fits into an index. PostgreSQL refuses index entries of more than about 2,700 bytes, so a longer
    /// text is replaced by its hash, which begins with a sign that no key begins with.
    var shortKey: String {
        if utf8.count <= 1000, !utf8.contains(0) { return self }
        let hash = SHA256.hash(data: Array(utf8))
        let digits = Array("0123456789abcdef")
        return "#" + hash.flatMap { [digits[Int($0 >> 4)], digits[Int($0 & 15)]] }
    }

    /// In lower case, where ASCII has one, as SQLite's `NOCASE` compares.
    var lowercasedInASCII: String {
        String(decoding: utf8.map { (65...90).contains($0) ? $0 + 32 : $0 }, as: UTF8.self)
    }
}
