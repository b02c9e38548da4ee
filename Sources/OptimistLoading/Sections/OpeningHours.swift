// This source file is part of the Optimist open source project, under the MIT licence.

public import Foundation

/// Opening hours in a place's local time.
///
/// A place is open while its wall clock shows a time within the hours. If the clock skips the opening time, the place
/// opens at that moment. If the clock shows a time twice, both count.
public struct OpeningHours: Hashable, Sendable {
    /// The opening time.
    public let from: TimeOfDay
    /// The closing time. If not later than ``from``: on the next day.
    public let to: TimeOfDay
    /// The days of opening. If the place is open over midnight, it closes on the next day.
    public let weekdays: Set<Weekday>
    /// The place's time zone.
    public let timeZone: TimeZone

    /// Creates opening hours.
    ///
    /// - Parameters:
    ///   - from: The opening time.
    ///   - to: The closing time, exclusive. Earlier than `from`: on the next day. Equal to `from`: open for a full day.
    ///   - weekdays: Default: every day.
    ///   - timeZone: The place's time zone, with its daylight saving time.
    public init(
        from: TimeOfDay, to: TimeOfDay, on weekdays: Set<Weekday> = Set(Weekday.allCases), in timeZone: TimeZone
    ) {
        self.from = from
        self.to = to
        self.weekdays = weekdays
        self.timeZone = timeZone
    }

    /// Whether the place is open at a moment. False for a date that is not a number.
    public func isOpen(at date: Date) -> Bool {
        guard let second = Int(exactly: date.timeIntervalSince1970.rounded(.down)) else { return false }
        let local = second + offset(at: second)
        let day = Self.day(of: local)
        let time = local - day * Self.daySeconds
        let opensToday = weekdays.contains(Weekday(ofDay: day))
        let openedYesterday = weekdays.contains(Weekday(ofDay: day - 1))
        if from < to { return opensToday && from.seconds <= time && time < to.seconds }
        return (opensToday && from.seconds <= time) || (openedYesterday && time < to.seconds)
    }

    /// The next opening or closing.
    ///
    /// - Returns: A moment later than the date. Nil if nothing changes for more than a week, or if the date is not a
    ///   number.
    public func nextChange(after date: Date) -> Date? {
        guard let second = Int(exactly: date.timeIntervalSince1970.rounded(.down)) else { return nil }
        let isOpen = isOpen(at: date)
        let today = Self.day(of: second)
        let days = (today - 1)...(today + 9)
        let moments = days.flatMap { day in
            [from, to].flatMap { self.moments(showing: day * Self.daySeconds + $0.seconds) } + jumps(onDay: day)
        }
        return moments.filter { $0 > second }.sorted().lazy.map { Date(timeIntervalSince1970: Double($0)) }
            .first { self.isOpen(at: $0) != isOpen }
    }

    // MARK: - Wall clock times, in seconds since 1970

    private static var daySeconds: Int { 86_400 }

    private static func day(of second: Int) -> Int { Int((Double(second) / Double(daySeconds)).rounded(.down)) }

    private func offset(at second: Int) -> Int {
        timeZone.secondsFromGMT(for: Date(timeIntervalSince1970: Double(second)))
    }

    /// The moments when the clock shows a time: usually one, but none or two when the clock is changed.
    private func moments(showing local: Int) -> [Int] {
        let offsets = Set([offset(at: local - Self.daySeconds), offset(at: local + Self.daySeconds)])
        return offsets.map { local - $0 }.filter { $0 + offset(at: $0) == local }
    }

    /// The moments of clock changes in the 24 hours of a UTC day.
    private func jumps(onDay day: Int) -> [Int] {
        var (before, after) = (day * Self.daySeconds, (day + 1) * Self.daySeconds)
        let former = offset(at: before)
        guard offset(at: after) != former else { return [] }
        while after - before > 1 {
            let middle = (before + after) / 2
            if offset(at: middle) == former { before = middle } else { after = middle }
        }
        return [after]
    }
}
