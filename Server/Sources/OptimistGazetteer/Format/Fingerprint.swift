// This source file is part of the Optimist open source project, under the MIT licence.

/// Tells data apart. Not for secrets: anyone can make two texts with one fingerprint.
///
/// > Source: Fowler, Noll, Vo, "FNV Hash" (FNV-1a, 64 bits).
struct Fingerprint {
    private var value: UInt64 = 0xCBF2_9CE4_8422_2325

    mutating func add(_ bytes: ArraySlice<UInt8>) {
        for byte in bytes { value = (value ^ UInt64(byte)) &* 0x100_0000_01B3 }
    }

    var text: String { String(value, radix: 16) }
}
