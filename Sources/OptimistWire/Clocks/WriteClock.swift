// This source file is part of the Optimist open source project, under the MIT licence.

/// When and where a column was last written: a stamp and the id of the device that issued it.
///
/// Clocks are ordered by stamp, then by the bytes of the device id. On the wire a clock is 16 hexadecimal digits, a
/// hyphen and the device id; as ASCII these sort in the same order.
public struct WriteClock: Hashable, Sendable {
    /// The time of the write, by the writer's hybrid logical clock.
    public var stamp: Stamp
    /// The writer's device id, 1 to 64 ASCII letters and digits, or `server` for a write stamped by the server.
    ///
    /// Unchecked. Use ``init(_:)`` or ``isDeviceID(_:)`` to check ids from outside.
    public var device: String

    /// Makes a clock from its parts, unchecked. The id must satisfy ``isDeviceID(_:)``.
    public init(stamp: Stamp, device: String) {
        self.stamp = stamp
        self.device = device
    }

    /// Reads the wire form, such as `019ab3c4d5e60000-7Kp3Xa90Qz`.
    ///
    /// Returns nil unless the text is 16 lower-case hexadecimal digits that fit in 63 bits, a hyphen, and 1 to 64 ASCII
    /// letters or digits.
    public init?(_ text: some StringProtocol) {
        let bytes = text.utf8
        guard (18...81).contains(bytes.count) else { return nil }
        var raw: UInt64 = 0
        var index = bytes.startIndex
        for _ in 0..<16 {
            let byte = bytes[index]
            guard let digit = hexDigit(byte), !(UInt8(ascii: "A")...UInt8(ascii: "F")).contains(byte) else {
                return nil
            }
            raw = raw << 4 | UInt64(digit)
            index = bytes.index(after: index)
        }
        guard raw <= UInt64(Int64.max), bytes[index] == UInt8(ascii: "-") else { return nil }
        let device = String(text[bytes.index(after: index)...])
        guard WriteClock.isDeviceID(device) else { return nil }
        self.init(stamp: Stamp(rawValue: Int64(raw)), device: device)
    }

    /// Whether a text is a valid device id: 1 to 64 ASCII letters and digits.
    public static func isDeviceID(_ text: String) -> Bool {
        (1...64).contains(text.utf8.count)
            && text.utf8.allSatisfy { byte in
                switch byte {
                case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                    UInt8(ascii: "a")...UInt8(ascii: "z"):
                    true
                default: false
                }
            }
    }
}

extension WriteClock: Comparable {
    public static func < (a: Self, b: Self) -> Bool {
        a.stamp != b.stamp ? a.stamp < b.stamp : a.device.utf8.lexicographicallyPrecedes(b.device.utf8)
    }
}

extension WriteClock: CustomStringConvertible {
    /// The wire form, which ``init(_:)`` reads.
    public var description: String {
        let hex = String(stamp.rawValue, radix: 16)
        return String(repeating: "0", count: 16 - hex.utf8.count) + hex + "-" + device
    }
}
