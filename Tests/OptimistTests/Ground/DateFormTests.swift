// This source file is part of the Optimist open source project, under the MIT licence.

import GRDB
import OptimistWire
import Testing

@testable import Optimist

@Suite(.timeLimit(.minutes(20)))
struct DateFormTests {
    @Test(arguments: [0, 1_780_000_000_000, -1_780_000_000_000, 32_503_679_999_000])
    func `R1 every millisecond survives the wire`(start: Int64) throws {
        for milliseconds in start..<start + 1_000 {
            let wire = try #require(ValueForm.DateForm.milliseconds.wire(.int64(milliseconds))?.string)
            #expect(ValueForm.DateForm.milliseconds.stored(wire) == milliseconds.databaseValue)
            let seconds = Double(milliseconds) / 1000
            let fractional = try #require(ValueForm.DateForm.seconds.wire(.double(seconds))?.string)
            #expect(fractional == wire)
            #expect(ValueForm.DateForm.seconds.stored(fractional) == seconds.databaseValue)
        }
    }
}
