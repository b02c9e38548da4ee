// This source file is part of the Optimist open source project, under the MIT licence.

/// A checksum that distinguishes versions of the data. It is not secure: collisions are easy to construct.
///
/// > Source: Fowler, Noll, Vo, "FNV Hash" (FNV-1a, 64 bits).
struct Fingerprint {
    private var value: UInt64 = 0xCBF2_9CE4_8422_2325

    mutating func add(_ bytes: ArraySlice<UInt8>) {
        for byte in bytes { value = (value ^ UInt64(byte)) &* 0x100_0000_01B3 }
    }

    var text: String { String(value, radix: 16) }
}
