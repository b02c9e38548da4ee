// This source file is part of the Optimist open source project, under the MIT licence.

import Foundation

/// The displayed size of a picture, from its file's header.
struct ImageSize: Equatable {
    var width: Int
    var height: Int

    /// Reads the start of a file. Nil if it is not a picture that browsers show.
    init?(of file: URL) {
        guard let handle = try? FileHandle(forReadingFrom: file) else { return nil }
        defer { try? handle.close() }
        // A photo's first segments contain its preview and its color profile, which may be long.
        guard let head = try? handle.read(upToCount: 1 << 20) else { return nil }
        self.init(head: [UInt8](head))
    }

    init?(head: [UInt8]) {
        let bytes = ByteReader(head)
        guard let size = Self.png(bytes) ?? Self.gif(bytes) ?? Self.webP(bytes) ?? Self.jpeg(bytes),
            (1...65_535).contains(size.width), (1...65_535).contains(size.height)
        else { return nil }
        self = size
    }

    private init(_ width: Int, _ height: Int) { (self.width, self.height) = (width, height) }

    /// > Source: Portable Network Graphics (PNG) Specification, W3C, sections 5.2 and 11.2.1.
    private static func png(_ bytes: ByteReader) -> ImageSize? {
        guard bytes.starts(with: [0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A, 0x1A, 0x0A]), bytes.text(at: 12, 4) == "IHDR",
            let width = bytes.big(at: 16, 4), let height = bytes.big(at: 20, 4)
        else { return nil }
        return ImageSize(width, height)
    }

    /// > Source: Graphics Interchange Format, version 89a, section 18.
    private static func gif(_ bytes: ByteReader) -> ImageSize? {
        guard bytes.text(at: 0, 4) == "GIF8", let width = bytes.little(at: 6, 2), let height = bytes.little(at: 8, 2)
        else { return nil }
        return ImageSize(width, height)
    }

    /// > Source: RFC 9649 (WebP), section 2; RFC 6386 (VP8), section 9.1; WebP lossless bitstream, section 3.
    private static func webP(_ bytes: ByteReader) -> ImageSize? {
        guard bytes.text(at: 0, 4) == "RIFF", bytes.text(at: 8, 4) == "WEBP" else { return nil }
        switch bytes.text(at: 12, 4) {
        case "VP8X":
            guard let width = bytes.little(at: 24, 3), let height = bytes.little(at: 27, 3) else { return nil }
            return ImageSize(width + 1, height + 1)
        case "VP8L":
            guard let bits = bytes.little(at: 21, 4) else { return nil }
            return ImageSize((bits & 0x3FFF) + 1, (bits >> 14 & 0x3FFF) + 1)
        case "VP8 ":
            guard let width = bytes.little(at: 26, 2), let height = bytes.little(at: 28, 2) else { return nil }
            return ImageSize(width & 0x3FFF, height & 0x3FFF)
        default: return nil
        }
    }

    /// > Source: ITU-T T.81 (JPEG), annex B; Exif 2.32, section 4.6.4, on rotated pictures.
    private static func jpeg(_ bytes: ByteReader) -> ImageSize? {
        guard bytes.starts(with: [0xFF, 0xD8]) else { return nil }
        var place = 2
        var isOnItsSide = false
        while let marker = bytes.big(at: place, 2), marker >> 8 == 0xFF {
            if marker == 0xFFFF {
                place += 1  // Fill bytes may precede a marker.
                continue
            }
            guard let length = bytes.big(at: place + 2, 2), length >= 2 else { return nil }
            switch marker {
            case 0xFFE1: isOnItsSide = orientation(bytes, at: place + 4).map { $0 >= 5 } ?? isOnItsSide
            case 0xFFC0...0xFFCF where ![0xFFC4, 0xFFC8, 0xFFCC].contains(marker):
                guard let height = bytes.big(at: place + 5, 2), let width = bytes.big(at: place + 7, 2) else {
                    return nil
                }
                return isOnItsSide ? ImageSize(height, width) : ImageSize(width, height)
            default: break
            }
            place += 2 + length
        }
        return nil
    }

    /// From 1 to 8. Values of 5 and more swap width and height.
    private static func orientation(_ bytes: ByteReader, at place: Int) -> Int? {
        guard bytes.text(at: place, 4) == "Exif" else { return nil }
        let start = place + 6
        let isLittle = bytes.text(at: start, 2) == "II"
        func number(_ offset: Int, _ count: Int) -> Int? {
            isLittle ? bytes.little(at: start + offset, count) : bytes.big(at: start + offset, count)
        }
        guard let directory = number(4, 4), let count = number(directory, 2) else { return nil }
        for entry in 0..<count where number(directory + 2 + entry * 12, 2) == 0x0112 {
            return number(directory + 2 + entry * 12 + 8, 2)
        }
        return nil
    }
}

private struct ByteReader {
    private let bytes: [UInt8]

    init(_ bytes: [UInt8]) { self.bytes = bytes }

    func starts(with start: [UInt8]) -> Bool { bytes.starts(with: start) }

    func big(at place: Int, _ count: Int) -> Int? {
        part(place, count)?.reduce(0) { $0 << 8 | Int($1) }
    }

    func little(at place: Int, _ count: Int) -> Int? {
        part(place, count)?.reversed().reduce(0) { $0 << 8 | Int($1) }
    }

    func text(at place: Int, _ count: Int) -> String? {
        part(place, count).map { String(decoding: $0, as: UTF8.self) }
    }

    private func part(_ place: Int, _ count: Int) -> ArraySlice<UInt8>? {
        guard place >= 0, place <= bytes.count - count else { return nil }
        return bytes[place..<place + count]
    }
}
