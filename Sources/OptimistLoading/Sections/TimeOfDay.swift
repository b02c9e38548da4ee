// This source file is part of the Optimist open source project, under the MIT licence.

/// A local time of day, in whole minutes.
public struct TimeOfDay: Hashable, Comparable, Sendable {
    let seconds: Int

    /// Creates a time from 00:00 to 24:00. Other values stop the program.
    public init(_ hour: Int, _ minute: Int = 0) {
        precondition((0...24).contains(hour) && (0..<60).contains(minute), "A time of day must be from 00:00 to 24:00.")
        precondition(hour < 24 || minute == 0, "A day ends at 24:00.")
        seconds = hour * 3_600 + minute * 60
    }

    /// Parses a time in the form `09:30` or `9:30`, from `00:00` to `24:00`. Returns nil for any other text.
    public init?(_ text: some StringProtocol) {
        let parts = text.split(separator: ":", omittingEmptySubsequences: false)
        guard parts.count == 2, parts.allSatisfy({ (1...2).contains($0.utf8.count) }), let hour = UInt(parts[0]),
            let minute = UInt(parts[1]), hour < 24 && minute < 60 || (hour, minute) == (24, 0)
        else { return nil }
        self.init(Int(hour), Int(minute))
    }

    public static func < (left: Self, right: Self) -> Bool { left.seconds < right.seconds }
}

/// A day of the week, in the Gregorian calendar.
public enum Weekday: Int, CaseIterable, Hashable, Sendable {
    /// Sunday, raw value 0.
    case sunday
    /// Monday, raw value 1.
    case monday
    /// Tuesday, raw value 2.
    case tuesday
    /// Wednesday, raw value 3.
    case wednesday
    /// Thursday, raw value 4.
    case thursday
    /// Friday, raw value 5.
    case friday
    /// Saturday, raw value 6.
    case saturday

    /// - Parameter day: In days since 1 January 1970, a Thursday.
    init(ofDay day: Int) {
        let number = (day + Weekday.thursday.rawValue) % 7
        self = Weekday.allCases[number < 0 ? number + 7 : number]
    }
}
