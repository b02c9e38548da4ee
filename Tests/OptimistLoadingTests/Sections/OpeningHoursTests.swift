// This source file is part of the Optimist open source project, under the MIT licence.

import Foundation
import OptimistCore
import OptimistTesting
import Testing

@testable import OptimistLoading

@Suite(.timeLimit(.minutes(20)))
struct OpeningHoursTests {
    private static func zone(_ name: String) throws -> TimeZone { try #require(TimeZone(identifier: name)) }

    private static func date(_ text: String, _ zone: TimeZone) throws -> Date {
        let parts = text.split { !$0.isNumber }.compactMap { Int($0) }
        var calendar = Calendar(identifier: .gregorian)
        calendar.timeZone = zone
        return try #require(
            calendar.date(
                from: DateComponents(year: parts[0], month: parts[1], day: parts[2], hour: parts[3], minute: parts[4])))
    }

    @Test(arguments: ["2027-03-27 09:00", "2027-10-30 09:00"])
    func
        `H3 the chapel appears and disappears on the minute, even on clock-change days, and touches no other section`(
            start: String
        ) async throws
    {
        let berlin = try Self.zone("Europe/Berlin")
        var calendar = Calendar(identifier: .gregorian)
        calendar.timeZone = berlin
        let hours = OpeningHours(from: TimeOfDay(10), to: TimeOfDay(13), in: berlin)
        let campus = Campus(hasWeather: false, hours: hours, from: try Self.date(start, berlin))
        await campus.ask()
        campus.home.answer(Answer(notices: ["a"], preacher: "Kim"))
        #expect(await campus.next()?.ids == [.notices], "at nine the chapel is closed")
        var (changes, wasThere) = ([ScreenSnapshot<Part, Home>](), false)
        for _ in 0..<(29 * 60) {
            await campus.clock.sleepers(atLeast: 1)
            campus.clock.advance(by: .seconds(60))
            await campus.clock.sleepers(atLeast: 1)
            let isThere = (10..<13).contains(calendar.component(.hour, from: campus.now()))
            if isThere != wasThere, let snapshot = await campus.next() { changes.append(snapshot) }
            wasThere = isThere
            let screen = campus.sections.snapshot?.screen
            #expect((screen?.chapel != nil) == isThere, "at \(campus.now())")
        }
        #expect(changes.map(\.changed) == Array(repeating: [.chapel], count: 4))
        #expect(changes.allSatisfy { $0.screen.notices == ["a"] })
        #expect(changes.map { $0.ids.contains(.chapel) } == [true, false, true, false])
    }

    @Test func `H3 hours may come with the section, and a clock change on the device is noticed within a minute`()
        async throws
    {
        let tokyo = try Self.zone("Asia/Tokyo")
        let hours = OpeningHours(from: TimeOfDay(10), to: TimeOfDay(13), in: tokyo)
        let campus = Campus(hasWeather: false, from: try Self.date("2027-01-01 12:30", tokyo))
        await campus.ask()
        campus.home.answer(Answer(preacher: "Kim", hours: hours))
        #expect(await campus.next()?.screen.chapel?.preacher == "Kim")
        await campus.clock.sleepers(atLeast: 1)
        #expect(campus.clock.untilNextSleeper == .seconds(60))
        campus.clock.advance(by: .seconds(1_800))
        #expect(await campus.next()?.screen.chapel == nil)
        await campus.ask()
        campus.home.answer(Answer(preacher: "Kim"))
        #expect(await campus.next()?.screen.chapel?.preacher == "Kim", "the new answer has no hours")
    }

    @Test(arguments: 1...60 as ClosedRange<UInt64>)
    func `H3 hours follow the local wall clock, and the next change is when the state changes`(seed: UInt64)
        throws
    {
        var random = SplitMix64(seed: seed)
        let names = ["Europe/Berlin", "America/New_York", "Australia/Lord_Howe", "Asia/Tokyo", "America/St_Johns"]
        let zone = try Self.zone(names.randomElement(using: &random) ?? "")
        var calendar = Calendar(identifier: .gregorian)
        calendar.timeZone = zone
        func time() -> TimeOfDay {
            TimeOfDay(Int.random(in: 0..<24, using: &random), [0, 15, 30, 59].randomElement(using: &random) ?? 0)
        }
        let days = Set(Weekday.allCases.filter { _ in Int.random(in: 0..<4, using: &random) > 0 })
        let hours = OpeningHours(from: time(), to: time(), on: days, in: zone)
        let jump = zone.nextDaylightSavingTimeTransition ?? Date(timeIntervalSince1970: 1_800_000_000)
        let start = jump.addingTimeInterval(Double.random(in: -200_000...0, using: &random).rounded(.down))
        let opening = { (date: Date) -> Bool in
            let parts = calendar.dateComponents([.hour, .minute, .weekday], from: date)
            guard let hour = parts.hour, let minute = parts.minute, let weekday = parts.weekday else { return false }
            let now = TimeOfDay(hour, minute)
            let today = days.contains(Weekday.allCases[weekday - 1])
            let yesterday = days.contains(Weekday.allCases[(weekday + 5) % 7])
            if hours.from < hours.to { return today && hours.from <= now && now < hours.to }
            return today && hours.from <= now || yesterday && now < hours.to
        }
        #expect(hours.isOpen(at: start) == opening(start))
        let change = hours.nextChange(after: start)
        let minute = Date(timeIntervalSince1970: (start.timeIntervalSince1970 / 60).rounded(.up) * 60)
        let minutes = (0..<9 * 1_440).lazy.map { minute.addingTimeInterval(Double($0) * 60) }
        #expect(change == minutes.first { $0 > start && opening($0) != opening(start) })
    }

    @Test func `H3 local times that are skipped or repeated are handled`() throws {
        let berlin = try Self.zone("Europe/Berlin")
        let spring = try Self.date("2027-03-28 01:00", berlin)
        let gap = OpeningHours(from: TimeOfDay(2, 30), to: TimeOfDay(4), in: berlin)
        #expect(
            gap.nextChange(after: spring) == spring.addingTimeInterval(3_600),
            "the hours begin when the clocks are set to three")
        let never = OpeningHours(from: TimeOfDay(2), to: TimeOfDay(3), in: berlin)
        #expect(
            never.nextChange(after: spring) == spring.addingTimeInterval(24 * 3_600),
            "the hours do not occur on this day")
        let autumn = try Self.date("2027-10-31 01:00", berlin)
        let twice = OpeningHours(from: TimeOfDay(2), to: TimeOfDay(2, 30), in: berlin)
        var (date, minutes) = (autumn, [Double]())
        for _ in 0..<4 {
            date = try #require(twice.nextChange(after: date))
            minutes.append(date.timeIntervalSince(autumn) / 60)
        }
        #expect(minutes == [60, 90, 120, 150])
    }

    @Test func `hours may cover a full day, cross midnight, or be empty`() throws {
        let tokyo = try Self.zone("Asia/Tokyo")
        let noon = try Self.date("2027-01-04 12:00", tokyo)  // A Monday.
        let always = OpeningHours(from: TimeOfDay(0), to: TimeOfDay(0), in: tokyo)
        #expect(always.isOpen(at: noon) && always.nextChange(after: noon) == nil)
        let never = OpeningHours(from: TimeOfDay(9), to: TimeOfDay(10), on: [], in: tokyo)
        #expect(!never.isOpen(at: noon) && never.nextChange(after: noon) == nil)
        let night = OpeningHours(from: TimeOfDay(22), to: TimeOfDay(2), on: [.monday], in: tokyo)
        #expect(night.nextChange(after: noon) == noon.addingTimeInterval(10 * 3_600))
        #expect(night.isOpen(at: noon.addingTimeInterval(13 * 3_600)))
        #expect(night.nextChange(after: noon.addingTimeInterval(11 * 3_600)) == noon.addingTimeInterval(14 * 3_600))
        #expect(
            !OpeningHours(from: TimeOfDay(9), to: TimeOfDay(24), in: tokyo).isOpen(
                at: Date(timeIntervalSince1970: .nan)))
    }
}

extension TimeZone {
    /// The first transition after the start of 2027.
    fileprivate var nextDaylightSavingTimeTransition: Date? {
        nextDaylightSavingTimeTransition(after: Date(timeIntervalSince1970: 1_800_000_000))
    }
}
