// This source file is part of the Optimist open source project, under the MIT licence.

#if canImport(Glibc)
    /// Compressed bodies.
    ///
    /// > Source: RFC 1951, section 3.2.6, and RFC 1952, section 2.3.
    enum Gzip {
        /// `"unpacked "`, twenty times.
        static let unpackedTwentyTimes: [UInt8] = [
            0x1F, 0x8B, 0x08, 0x00, 0x00, 0x00, 0x00, 0x00, 0x02, 0x03, 0x2B, 0xCD, 0x2B, 0x48, 0x4C, 0xCE,
            0x4E, 0x4D, 0x51, 0x28, 0x1D, 0x3A, 0x0C, 0x00, 0xC8, 0xE9, 0xA8, 0x16, 0xB4, 0x00, 0x00, 0x00,
        ]

        /// The same as deflate without a frame, as some servers send it.
        static let withoutFrame = Array(unpackedTwentyTimes.dropFirst(10).dropLast(8))

        /// The same as deflate in zlib's frame.
        ///
        /// > Source: RFC 1950, section 2.2.
        static let inFrame: [UInt8] = {
            var (a, b) = (UInt32(1), UInt32(0))
            for byte in String(repeating: "unpacked ", count: 20).utf8 {
                a = (a + UInt32(byte)) % 65521
                b = (b + a) % 65521
            }
            return [0x78, 0x9C] + withoutFrame + Frame.big(b << 16 | a)
        }()

        /// `count` zeros as gzip: one literal, and copies of 258 bytes at distance 1, in fixed codes. The trailer is
        /// missing, because a reader should stop before the trailer.
        static func zeros(_ count: Int) -> [UInt8] {
            var bytes: [UInt8] = [0x1F, 0x8B, 8, 0, 0, 0, 0, 0, 0, 255]
            var (bits, held) = (UInt32(0), 0)
            func put(_ code: UInt32, _ length: Int) {
                for shift in (0..<length).reversed() {
                    bits |= (code >> UInt32(shift) & 1) << UInt32(held)
                    held += 1
                    if held == 8 {
                        bytes.append(UInt8(bits))
                        (bits, held) = (0, 0)
                    }
                }
            }
            put(0b110, 3)  // The last block, of fixed codes.
            put(0b0011_0000, 8)  // The byte 0.
            func putEight() {
                for _ in 0..<8 {
                    put(0b1100_0101, 8)  // Length 258 …
                    put(0b00000, 5)  // … from distance 1.
                }
            }
            putEight()
            // From here the same 13 bytes repeat.
            let start = bytes.count
            putEight()
            let period = bytes[start...]
            for _ in 2..<count / 258 / 8 { bytes += period }
            return bytes
        }
    }
#endif
