// This source file is part of the Optimist open source project, under the MIT licence.

import Testing

@testable import OptimistWire

@Suite struct PlainTextTests {
    @Test func `a quotation mark, backslash or control character ends a plain run at any position`() {
        var wrong: [(byte: UInt8, position: Int)] = []
        for byte in UInt8.min...UInt8.max {
            let isSpecial = byte < 0x20 || byte == UInt8(ascii: "\"") || byte == UInt8(ascii: "\\")
            for position in 0..<17 {
                var bytes = [UInt8](repeating: UInt8(ascii: "a"), count: 17)
                bytes[position] = byte
                let run = bytes.withUnsafeBufferPointer { PlainText(in: $0, from: 1) }
                let isFound = isSpecial && position > 0
                if run.end != (isFound ? position : 17) || run.isASCII != (byte < 0x80 || position == 0) {
                    wrong.append((byte, position))
                }
            }
        }
        #expect(wrong.isEmpty)
    }
}
