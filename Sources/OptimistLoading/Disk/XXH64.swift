// This source file is part of the Optimist open source project, under the MIT licence.

/// A fast 64-bit checksum. It detects damage, not forgery: a program that can write the file can also write the
/// checksum.
///
/// > Source: Collet, "xxHash fast digest algorithm", version 0.1.1 (doc/xxhash_spec.md in Cyan4973/xxHash), XXH64.
enum XXH64 {
    private static let prime1: UInt64 = 0x9E37_79B1_85EB_CA87
    private static let prime2: UInt64 = 0xC2B2_AE3D_27D4_EB4F
    private static let prime3: UInt64 = 0x1656_67B1_9E37_79F9
    private static let prime4: UInt64 = 0x85EB_CA77_C2B2_AE63
    private static let prime5: UInt64 = 0x27D4_EB2F_1656_67C5

    /// Returns the checksum of some bytes, the same on every platform.
    static func hash(_ bytes: UnsafeRawBufferPointer, seed: UInt64 = 0) -> UInt64 {
        let count = bytes.count
        var offset = 0
        var hash: UInt64
        if count >= 32 {
            var (lane1, lane2) = (seed &+ prime1 &+ prime2, seed &+ prime2)
            var (lane3, lane4) = (seed, seed &- prime1)
            while offset &+ 32 <= count {
                lane1 = round(lane1, bytes.word(at: offset))
                lane2 = round(lane2, bytes.word(at: offset &+ 8))
                lane3 = round(lane3, bytes.word(at: offset &+ 16))
                lane4 = round(lane4, bytes.word(at: offset &+ 24))
                offset &+= 32
            }
            hash = lane1.rotated(1) &+ lane2.rotated(7) &+ lane3.rotated(12) &+ lane4.rotated(18)
            for lane in [lane1, lane2, lane3, lane4] { hash = (hash ^ round(0, lane)) &* prime1 &+ prime4 }
        } else {
            hash = seed &+ prime5
        }
        hash &+= UInt64(count)
        while offset &+ 8 <= count {
            hash = (hash ^ round(0, bytes.word(at: offset))).rotated(27) &* prime1 &+ prime4
            offset &+= 8
        }
        if offset &+ 4 <= count {
            let half = UInt32(littleEndian: bytes.loadUnaligned(fromByteOffset: offset, as: UInt32.self))
            hash = (hash ^ (UInt64(half) &* prime1)).rotated(23) &* prime2 &+ prime3
            offset &+= 4
        }
        while offset < count {
            hash = (hash ^ (UInt64(bytes[offset]) &* prime5)).rotated(11) &* prime1
            offset &+= 1
        }
        hash = (hash ^ (hash >> 33)) &* prime2
        hash = (hash ^ (hash >> 29)) &* prime3
        return hash ^ (hash >> 32)
    }

    static func hash(_ text: String) -> UInt64 {
        var text = text
        return text.withUTF8 { hash(UnsafeRawBufferPointer($0)) }
    }

    @inline(__always)
    private static func round(_ lane: UInt64, _ word: UInt64) -> UInt64 {
        (lane &+ word &* prime2).rotated(31) &* prime1
    }
}

extension UnsafeRawBufferPointer {
    @inline(__always)
    fileprivate func word(at offset: Int) -> UInt64 {
        UInt64(littleEndian: loadUnaligned(fromByteOffset: offset, as: UInt64.self))
    }
}

extension UInt64 {
    @inline(__always)
    fileprivate func rotated(_ bits: UInt64) -> UInt64 { self &<< bits | self &>> (64 &- bits) }
}
