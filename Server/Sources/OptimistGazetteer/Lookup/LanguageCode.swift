// This source file is part of the Optimist open source project, under the MIT licence.

/// A language in GeoNames' form: two or three lower-case letters.
package struct LanguageCode: Hashable, Sendable {
    /// The letters, such as `ja`.
    package let text: String

    /// Reads the language of a tag such as `ja`, `zh-Hant-TW` or `EN_us`, ignoring region and script.
    ///
    /// Returns nil unless the tag begins with two or three letters.
    package init?(_ tag: some StringProtocol) {
        let letters = tag.utf8.prefix { $0 != UInt8(ascii: "-") && $0 != UInt8(ascii: "_") }
        guard (2...3).contains(letters.count) else { return nil }
        let text = String(decoding: letters, as: UTF8.self).lowercased()
        guard text.utf8.allSatisfy((UInt8(ascii: "a")...UInt8(ascii: "z")).contains) else { return nil }
        self.text = text
    }
}
