// This source file is part of the Optimist open source project, under the MIT licence.

import Foundation

/// A 64-bit ELF or Mach-O executable, or its debugging symbols.
struct BinaryImage {
    let file: URL
    /// In lower-case hexadecimal digits.
    let id: String
    /// The address of the image's first byte, to which a frame's offset is added.
    let base: UInt64

    /// The start of a file contains the notes and load commands.
    private static let headBytes = 1 << 20

    /// Nil if the file has another format or does not have an id.
    init?(_ file: URL) {
        guard let handle = try? FileHandle(forReadingFrom: file),
            let data = try? handle.read(upToCount: Self.headBytes), data.count > 64
        else { return nil }
        let head = [UInt8](data)
        guard let found = Self.elf(head) ?? Self.machO(head) else { return nil }
        self.file = file
        (id, base) = found
    }

    /// > Source: the note of `ld --build-id`: sizes 4 and n, type 3, the name "GNU", and n bytes.
    private static func elf(_ head: [UInt8]) -> (String, UInt64)? {
        guard head.starts(with: [0x7F, 0x45, 0x4C, 0x46]) else { return nil }
        let name: [UInt8] = [3, 0, 0, 0, 0x47, 0x4E, 0x55, 0]
        for start in stride(from: 8, to: head.count - 44, by: 4) where head[start..<start + 8].elementsEqual(name) {
            let size = Int(head[start - 4])
            guard number(head, start - 8, 4) == 4, (8...32).contains(size) else { continue }
            return (hexadecimal(head[(start + 8)..<(start + 8 + size)]), 0)
        }
        return nil
    }

    /// > Source: Apple, `mach-o/loader.h`: LC_UUID is 0x1b, LC_SEGMENT_64 is 0x19.
    private static func machO(_ head: [UInt8]) -> (String, UInt64)? {
        guard number(head, 0, 4) == 0xFEED_FACF else { return nil }
        var (place, id, base) = (32, String?.none, UInt64(0))
        for _ in 0..<min(number(head, 16, 4), 1000) {
            guard place + 32 <= head.count else { break }
            let size = Int(number(head, place + 4, 4))
            switch number(head, place, 4) {
            case 0x1B: id = hexadecimal(head[(place + 8)..<(place + 24)])
            case 0x19 where head[(place + 8)..<(place + 14)].elementsEqual("__TEXT".utf8):
                base = number(head, place + 24, 8)
            default: break
            }
            if size < 8 { break }
            place += size
        }
        return id.map { ($0, base) }
    }

    private static func number(_ bytes: [UInt8], _ start: Int, _ count: Int) -> UInt64 {
        bytes[start..<start + count].reversed().reduce(0) { $0 << 8 | UInt64($1) }
    }

    private static func hexadecimal(_ bytes: ArraySlice<UInt8>) -> String {
        bytes.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
    }
}
