// This source file is part of the Optimist open source project, under the MIT licence.

/// A run of bytes that need no escape in a JSON string. It ends before a quotation mark, a backslash or a control
/// character.
///
/// The scan reads eight bytes at once, because most of a message is strings and most strings need no escape.
///
/// > Source: RFC 8259, section 7; Sean Eron Anderson, "Bit Twiddling Hacks", "Determine if a word has a zero byte" and
/// > "has a byte less than n".
struct PlainText {
    /// The index after the run.
    let end: Int
    let isASCII: Bool

    init(in bytes: UnsafeBufferPointer<UInt8>, from start: Int) {
        let bytes = UnsafeRawBufferPointer(bytes)
        var (end, seen) = (start, UInt64(0))
        while end + 8 <= bytes.count {
            let word = bytes.loadUnaligned(fromByteOffset: end, as: UInt64.self)
            if Self.hasSpecial(word) { break }
            seen |= word
            end += 8
        }
        while end < bytes.count, !Self.isSpecial(bytes[end]) {
            seen |= UInt64(bytes[end])
            end += 1
        }
        self.end = end
        isASCII = seen & Self.highBits == 0
    }

    private static func isSpecial(_ byte: UInt8) -> Bool { byte < 0x20 || byte == 0x22 || byte == 0x5C }

    private static func hasSpecial(_ word: UInt64) -> Bool {
        let quoted = word ^ (0x22 &* ones)
        let escaped = word ^ (0x5C &* ones)
        let control = (word &- 0x20 &* ones) & ~word
        return (control | (quoted &- ones) & ~quoted | (escaped &- ones) & ~escaped) & highBits != 0
    }

    private static let ones: UInt64 = 0x0101_0101_0101_0101
    private static let highBits: UInt64 = 0x8080_8080_8080_8080
}
