// This source file is part of the Optimist open source project, under the MIT licence.

import OptimistCore
import Testing

@_spi(Internals) @testable import OptimistWire

@Suite(.timeLimit(.minutes(20)))
struct ClockTests {
    @Test func `a clock round-trips through the protocol's text`() throws {
        let clock = try #require(WriteClock("019ab3c4d5e60000-7Kp3"))
        #expect(clock.stamp.milliseconds == 0x019a_b3c4_d5e6)
        #expect(clock.stamp.counter == 0)
        #expect(clock.device == "7Kp3")
        #expect(clock.description == "019ab3c4d5e60000-7Kp3")
    }

    @Test(arguments: [
        "", "019ab3c4d5e60000", "019ab3c4d5e60000-", "019AB3c4d5e60000-7Kp3", "019ab3c4d5e6000-7Kp3",
        "g19ab3c4d5e60000-7Kp3",
        "ffffffffffffffff-7Kp3", "019ab3c4d5e60000-7K p3", "019ab3c4d5e60000_7Kp3",
    ])
    func `an invalid clock is refused`(text: String) { #expect(WriteClock(text) == nil) }

    @Test(arguments: 1...100)
    func `clocks order as their ASCII text does`(seed: UInt64) {
        var random = SplitMix64(seed: seed)
        func clock() -> WriteClock {
            WriteClock(
                stamp: Stamp(rawValue: .random(in: 0...3, using: &random)),
                device: String((0..<2).map { _ in "09AZaz".randomElement(using: &random) ?? "0" }))
        }
        let (a, b) = (clock(), clock())
        #expect((a < b) == a.description.utf8.lexicographicallyPrecedes(b.description.utf8))
    }

    @Test func `a hybrid clock never goes backwards`() {
        var clock = HybridClock()
        let first = clock.tick(milliseconds: 1000)
        let second = clock.tick(milliseconds: 1000)
        let third = clock.tick(milliseconds: 5)
        #expect(first < second && second < third)
        #expect(third.milliseconds == 1000)
        clock.witness(Stamp(milliseconds: 9000, counter: 7))
        #expect(clock.tick(milliseconds: 2000) > Stamp(milliseconds: 9000, counter: 7))
    }

    @Test func `packed clocks unpack to the same clocks`() throws {
        let (a, b) = (
            WriteClock(stamp: Stamp(milliseconds: 1), device: "A"),
            WriteClock(stamp: Stamp(milliseconds: 2), device: "B")
        )
        let clocks = ColumnClocks(packing: ["x": a, "y": a, "z": b])
        #expect(clocks.common == a)
        #expect(clocks.exceptions == ["z": b])
        #expect(ColumnClocks(json: clocks.json) == clocks)
        #expect(ColumnClocks(json: .string(a.description)) == ColumnClocks(common: a))
        #expect(ColumnClocks(json: ["x": 1]) == nil)
    }
}
