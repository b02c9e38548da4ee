// This source file is part of the Optimist open source project, under the MIT licence.

package import Foundation

extension URL {
    /// Makes the URL of a target, escaping characters that a URL cannot contain. Nil if it is not a URL.
    ///
    /// If a target mixes escapes and raw characters, `URL(string:)` alone would escape it twice: in `/a%20b c`, it
    /// treats each `%` as a raw character.
    package init?(target: String, relativeTo base: URL? = nil) {
        self.init(string: Self.escaping(target), relativeTo: base)
    }

    /// Escapes the part after the host, byte by byte. Existing escapes are kept, and other `%` characters are escaped.
    ///
    /// > Source: RFC 3986, section 3.3 (path), section 3.4 (query) and section 2.4 (when to escape).
    private static func escaping(_ target: String) -> String {
        let bytes = Array(target.utf8)
        var index = startOfPath(bytes)
        var (escaped, hasFragment) = (Array(bytes[..<index]), false)
        while index < bytes.count {
            let byte = bytes[index]
            let isKept =
                switch byte {
                case UInt8(ascii: "%"): bytes[(index + 1)...].prefix(2).count(where: isHexDigit) == 2
                case UInt8(ascii: "#"): !hasFragment
                default: isAllowed(byte)
                }
            hasFragment = hasFragment || byte == UInt8(ascii: "#")
            if isKept {
                escaped.append(byte)
            } else {
                escaped += [UInt8(ascii: "%"), hexDigits[Int(byte >> 4)], hexDigits[Int(byte & 0x0F)]]
            }
            index += 1
        }
        return String(decoding: escaped, as: UTF8.self)
    }

    /// The index after the host, which has different escaping rules. A path has no host.
    private static func startOfPath(_ bytes: [UInt8]) -> Int {
        let slash = UInt8(ascii: "/")
        let firstSlash = bytes.firstIndex(of: slash) ?? bytes.count
        guard bytes[firstSlash...].prefix(2).elementsEqual([slash, slash]) else { return 0 }
        guard firstSlash == 0 || bytes[firstSlash - 1] == UInt8(ascii: ":") else { return 0 }
        let end = bytes[(firstSlash + 2)...].firstIndex {
            $0 == slash || $0 == UInt8(ascii: "?") || $0 == UInt8(ascii: "#")
        }
        return end ?? bytes.count
    }

    private static let hexDigits = Array("0123456789ABCDEF".utf8)

    private static func isHexDigit(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "a")...UInt8(ascii: "f"),
            UInt8(ascii: "A")...UInt8(ascii: "F"):
            true
        default: false
        }
    }

    private static func isAllowed(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"):
            true
        default: Array("-._~!$&'()*+,;=:@/?".utf8).contains(byte)
        }
    }
}
