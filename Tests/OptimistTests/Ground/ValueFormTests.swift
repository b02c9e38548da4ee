// This source file is part of the Optimist open source project, under the MIT licence.

import Foundation
import GRDB
import OptimistCore
import TestForm
import Testing

@testable import Optimist
@testable import OptimistWire

@Suite(.timeLimit(.minutes(60)))
struct ValueFormTests {
    private static let forms: [ValueForm] = [
        .string, .bool, .int, .int64, .number, .data, .counter, .json(.text), .json(.numeric), .date(.text),
        .date(.seconds), .date(.milliseconds), .reference(.bytes), .reference(.text),
    ]
    private static let seeds: ClosedRange<UInt64> = TestForm.of(short: 1...40, full: 1...400, soak: 1...40_000)

    @Test(arguments: seeds)
    func `W10 every value survives its wire form, and a value that fits has the column's type`(
        seed: UInt64
    ) {
        var random = SplitMix64(seed: seed)
        for _ in 0..<50 {
            let value = AnyValue.random(using: &random)
            for form in Self.forms { check(value, form) }
        }
    }

    private func check(_ value: AnyValue, _ form: ValueForm) {
        let stored = value.withView(\.databaseValue)
        let wire = form.wire(stored)
        let surelyFits = value.withView { form.surelyFits($0) }
        #expect(comesBack(stored, wire, form), "\(form) \(value.literal)")
        if surelyFits { #expect(form.fits(stored), "\(form) \(value.literal)") }
        if form.fits(stored) {
            #expect(form.columnType.objection(to: wire) == nil, "\(form) \(value.literal)")
            #expect((try? JSON(parsing: wire.bytes)) == wire, "\(form) \(value.literal)")
            #expect(StrangeValue(wire) == nil, "\(form) \(value.literal)")
        }
    }

    private func comesBack(_ stored: DatabaseValue, _ wire: JSON, _ form: ValueForm) -> Bool {
        switch (form, stored.storage) {
        // JSON returns as an equal value.
        case (.json, _): form.wire(form.stored(wire)) == wire
        // Whole numbers occur only in text columns declared DATE, where SQLite turns the text into a number again.
        case (.string, .int64(let number)): form.stored(wire).isSame(as: String(number).databaseValue)
        default: form.stored(wire).isSame(as: stored)
        }
    }

    @Test func `W10 a date keeps its nanoseconds, and a date that the wire cannot carry is rejected`() {
        for count in [0, 1_790_000_000.123_456, -0.25, -62_167_219_200, 253_402_300_799.999] as [Double] {
            let moment = Moment(count, each: .second)
            #expect(moment?.count(of: .second) == count)
            #expect(moment.flatMap { Moment($0.text) } == moment)
        }
        #expect(Moment(253_402_300_800 as Int64, each: .second) == nil)
        #expect(Moment(1e-10, each: .second) == nil)
        #expect(Moment(Double.nan, each: .second) == nil)
        #expect(Moment("2026-11-21T10:00:00.5Z")?.count(of: .millisecond) == 1_795_255_200_500)
        #expect(Moment(-1 as Int64, each: .millisecond)?.text == "1969-12-31T23:59:59.999Z")
        #expect(Moment(951_782_400 as Int64, each: .second)?.text == "2000-02-29T00:00:00.000Z")
    }
}
