// This source file is part of the Optimist open source project, under the MIT licence.

/// Base64url without padding, RFC 4648 §5: the wire form of bytes.
@_spi(Internals) public enum Base64URL {
    private static let alphabet = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_".utf8)

    /// Whether a text is base64url without padding. The empty text is valid.
    public static func isValid(_ text: String) -> Bool { decode(text) != nil }

    /// Returns bytes as text without padding: 4 characters for 3 bytes.
    public static func encode(_ bytes: some Collection<UInt8>) -> String {
        var output: [UInt8] = []
        output.reserveCapacity((bytes.count * 4 + 2) / 3)
        var (bits, count): (UInt32, Int) = (0, 0)
        for byte in bytes {
            bits = bits << 8 | UInt32(byte)
            count += 8
            while count >= 6 {
                count -= 6
                output.append(alphabet[Int(bits >> UInt32(count) & 63)])
            }
        }
        if count > 0 { output.append(alphabet[Int(bits << UInt32(6 - count) & 63)]) }
        return String(decoding: output, as: UTF8.self)
    }

    /// Returns the bytes of a text, or nil if it is not base64url without padding. Unused trailing bits must be zero.
    public static func decode(_ text: String) -> [UInt8]? {
        var output: [UInt8] = []
        output.reserveCapacity(text.utf8.count * 3 / 4)
        var (bits, count): (UInt32, Int) = (0, 0)
        for byte in text.utf8 {
            guard let value = value(of: byte) else { return nil }
            bits = bits << 6 | value
            count += 6
            if count >= 8 {
                count -= 8
                output.append(UInt8(truncatingIfNeeded: bits >> UInt32(count)))
            }
        }
        let leftover = bits & (1 << UInt32(count) - 1)
        return count < 6 && leftover == 0 ? output : nil
    }

    private static func value(of byte: UInt8) -> UInt32? {
        switch byte {
        case UInt8(ascii: "A")...UInt8(ascii: "Z"): UInt32(byte - UInt8(ascii: "A"))
        case UInt8(ascii: "a")...UInt8(ascii: "z"): UInt32(byte - UInt8(ascii: "a")) + 26
        case UInt8(ascii: "0")...UInt8(ascii: "9"): UInt32(byte - UInt8(ascii: "0")) + 52
        case UInt8(ascii: "-"): 62
        case UInt8(ascii: "_"): 63
        default: nil
        }
    }
}
