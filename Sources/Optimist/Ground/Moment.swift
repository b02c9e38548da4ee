// This source file is part of the Optimist open source project, under the MIT licence.

@_spi(Internals) import OptimistWire

/// A point in time between the years 0 and 9999 in UTC, to the nanosecond.
///
/// > Source: Howard Hinnant, "chrono-Compatible Low-Level Date Algorithms", `civil_from_days` and `days_from_civil`.
struct Moment: Equatable {
    enum Unit: Int64 {
        case second = 1_000_000_000
        case millisecond = 1_000_000

        fileprivate var nanoseconds: Int64 { rawValue }
        fileprivate var perSecond: Int64 { 1_000_000_000 / rawValue }
        fileprivate var digits: Int { self == .second ? 9 : 6 }
    }

    /// Whole seconds since 1970.
    private let seconds: Int64
    /// Nanoseconds within the second, in `0..<1_000_000_000`.
    private let nanoseconds: Int64

    private init?(seconds: Int64, nanoseconds: Int64) {
        guard (-62_167_219_200..<253_402_300_800).contains(seconds) else { return nil }
        self.seconds = seconds
        self.nanoseconds = nanoseconds
    }

    /// A whole number of units since 1970. Nil if the year does not have four digits.
    init?(_ count: Int64, each unit: Unit) {
        self.init(whole: count, fraction: 0, unit)
    }

    private init?(whole: Int64, fraction: Int64, _ unit: Unit) {
        let (seconds, rest) = whole.quotientAndRemainder(dividingBy: unit.perSecond)
        let part = rest * unit.nanoseconds + fraction
        self.init(
            seconds: part < 0 ? seconds - 1 : seconds, nanoseconds: part < 0 ? part + Unit.second.nanoseconds : part)
    }

    /// A number of units since 1970. Nil if the year does not have four digits, or if the double is not the nearest
    /// double to a whole number of nanoseconds.
    init?(_ count: Double, each unit: Unit) {
        guard count.magnitude < 1e15 else { return nil }
        let whole = count.rounded(.down)
        // Try few digits first: nearly all dates have whole milliseconds.
        for step in [1_000_000, 1_000, 1] as [Int64] where step <= unit.nanoseconds {
            let fraction = Int64(((count - whole) * Double(unit.nanoseconds / step)).rounded()) * step
            guard let moment = Moment(whole: Int64(whole), fraction: fraction, carrying: unit) else { return nil }
            if moment.count(of: unit).bitPattern == (count == 0 ? 0 : count).bitPattern {
                self = moment
                return
            }
        }
        return nil
    }

    private init?(whole: Int64, fraction: Int64, carrying unit: Unit) {
        let carry = fraction == unit.nanoseconds
        self.init(whole: carry ? whole + 1 : whole, fraction: carry ? 0 : fraction, unit)
    }

    /// The number of units since 1970, as the nearest double.
    func count(of unit: Unit) -> Double {
        var whole = seconds * unit.perSecond + nanoseconds / unit.nanoseconds
        var fraction = nanoseconds % unit.nanoseconds
        if fraction == 0 { return Double(whole) }
        let isNegative = whole < 0
        if isNegative { (whole, fraction) = (-whole - 1, unit.nanoseconds - fraction) }
        let decimal = "\(isNegative ? "-" : "")\(whole).\(Self.padded(fraction, to: unit.digits))"
        return Double(decimal) ?? Double(whole)
    }

    /// Milliseconds since 1970, or nil if that is not a whole number.
    var wholeMilliseconds: Int64? {
        nanoseconds % 1_000_000 == 0 ? seconds * 1000 + nanoseconds / 1_000_000 : nil
    }
}

extension Moment {
    /// The text form of ``UTCDate``, with 3, 6 or 9 fractional digits as needed.
    var text: String {
        let (day, second) =
            (seconds >= 0 || seconds % 86_400 == 0)
            ? seconds.quotientAndRemainder(dividingBy: 86_400) : (seconds / 86_400 - 1, seconds % 86_400 + 86_400)
        let date = Self.date(ofDay: day)
        let fraction =
            nanoseconds % 1_000_000 == 0
            ? Self.padded(nanoseconds / 1_000_000, to: 3)
            : nanoseconds % 1_000 == 0 ? Self.padded(nanoseconds / 1_000, to: 6) : Self.padded(nanoseconds, to: 9)
        let time = [second / 3600, second / 60 % 60, second % 60].map { Self.padded($0, to: 2) }.joined(separator: ":")
        return [
            Self.padded(date.year, to: 4), "-", Self.padded(date.month, to: 2), "-", Self.padded(date.day, to: 2), "T",
            time, ".", fraction, "Z",
        ].joined()
    }

    /// Parses a UTC date. Nil if the text is not one. A leap second becomes the first second of the next minute.
    init?(_ text: String) {
        guard UTCDate.isValid(text) else { return nil }
        let digits = text.utf8.map { Int64($0) - 48 }
        func number(_ range: Range<Int>) -> Int64 { range.reduce(0) { $0 * 10 + digits[$1] } }
        let day = Self.day(year: number(0..<4), month: number(5..<7), day: number(8..<10))
        let second = number(11..<13) * 3600 + number(14..<16) * 60 + number(17..<19)
        let end = digits.count - 1
        let fraction = end > 20 ? number(20..<end) : 0
        let scale = (max(end - 20, 0)..<9).reduce(1) { scale, _ in scale * 10 } as Int64
        self.init(seconds: day * 86_400 + second, nanoseconds: fraction * scale)
    }

    private static func padded(_ number: Int64, to digits: Int) -> String {
        let text = String(number)
        return String(repeating: "0", count: max(digits - text.utf8.count, 0)) + text
    }

    private static func date(ofDay day: Int64) -> (year: Int64, month: Int64, day: Int64) {
        // Count from 1 March of the year 0, so that a leap day ends a year.
        let shifted = day + 719_468
        let era = (shifted >= 0 ? shifted : shifted - 146_096) / 146_097
        let ofEra = shifted - era * 146_097
        let yearOfEra = (ofEra - ofEra / 1_460 + ofEra / 36_524 - ofEra / 146_096) / 365
        let ofYear = ofEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
        let monthFromMarch = (5 * ofYear + 2) / 153
        let month = monthFromMarch < 10 ? monthFromMarch + 3 : monthFromMarch - 9
        return (yearOfEra + era * 400 + (month <= 2 ? 1 : 0), month, ofYear - (153 * monthFromMarch + 2) / 5 + 1)
    }

    private static func day(year: Int64, month: Int64, day: Int64) -> Int64 {
        let year = month <= 2 ? year - 1 : year
        let era = (year >= 0 ? year : year - 399) / 400
        let yearOfEra = year - era * 400
        let ofYear = (153 * (month > 2 ? month - 3 : month + 9) + 2) / 5 + day - 1
        return era * 146_097 + yearOfEra * 365 + yearOfEra / 4 - yearOfEra / 100 + ofYear - 719_468
    }
}
