// This source file is part of the Optimist open source project, under the MIT licence.

import Foundation

enum LineReader {
    /// Longer lines are truncated. GeoNames' lines are far shorter.
    private static let maxLineBytes = 1 << 20

    /// Calls `body` with each line, without its line ending, and its number, from 1.
    ///
    /// - Throws: `POSIXError` if the file cannot be read, or what `body` throws.
    static func forEachLine(of file: URL, _ body: (_ line: ArraySlice<UInt8>, _ number: Int) throws -> Void) throws {
        let descriptor = try check(open(file.path, O_RDONLY | O_CLOEXEC))
        defer { close(descriptor) }
        var chunk = [UInt8](repeating: 0, count: 1 << 18)
        // The start of a line that continues in the next chunk.
        var beginning: [UInt8] = []
        var number = 0
        func finish(_ line: ArraySlice<UInt8>) throws {
            number += 1
            try body(line.last == UInt8(ascii: "\r") ? line.dropLast() : line, number)
        }
        while case let count = try fill(&chunk, from: descriptor), count > 0 {
            var rest = chunk[..<count]
            while let end = rest.firstIndex(of: UInt8(ascii: "\n")) {
                if beginning.isEmpty {
                    try finish(rest[..<end])
                } else {
                    beginning += rest[..<end].prefix(maxLineBytes - beginning.count)
                    try finish(beginning[...])
                    beginning.removeAll(keepingCapacity: true)
                }
                rest = rest[(end + 1)...]
            }
            beginning += rest.prefix(maxLineBytes - beginning.count)
        }
        if !beginning.isEmpty { try finish(beginning[...]) }
    }

    private static func fill(_ chunk: inout [UInt8], from descriptor: CInt) throws -> Int {
        while true {
            let count = chunk.withUnsafeMutableBytes { read(descriptor, $0.baseAddress, $0.count) }
            if count < 0, errno == EINTR { continue }
            return try check(count)
        }
    }

    private static func check<Result: BinaryInteger>(_ result: Result) throws -> Result {
        guard result < 0 else { return result }
        throw POSIXError(POSIXErrorCode(rawValue: errno) ?? .EIO)
    }
}
