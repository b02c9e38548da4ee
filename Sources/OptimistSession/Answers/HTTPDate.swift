// This source file is part of the Optimist open source project, under the MIT licence.

package import Foundation

/// HTTP dates, `Sun, 06 Nov 1994 08:49:37 GMT`. Parsing also accepts the two obsolete forms,
/// `Sunday, 06-Nov-94 08:49:37 GMT` and `Sun Nov  6 08:49:37 1994`.
///
/// > Source: RFC 9110, section 5.6.7.
package enum HTTPDate {
    private static let months = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"]

    private static let weekdays = ["Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"]

    private static var calendar: Calendar {
        var calendar = Calendar(identifier: .gregorian)
        calendar.timeZone = .gmt
        return calendar
    }

    package static func format(_ date: Date) -> String {
        let parts = calendar.dateComponents([.weekday, .day, .month, .year, .hour, .minute, .second], from: date)
        func two(_ value: Int?) -> String {
            let digits = String(value ?? 0)
            return digits.count < 2 ? "0" + digits : digits
        }
        let day = "\(weekdays[(parts.weekday ?? 1) - 1]), \(two(parts.day)) \(months[(parts.month ?? 1) - 1])"
        return "\(day) \(parts.year ?? 0) \(two(parts.hour)):\(two(parts.minute)):\(two(parts.second)) GMT"
    }

    /// Parses any of the three forms. Returns nil for other text. A day beyond the end of its month rolls over into the
    /// next month.
    ///
    /// - Parameter now: A two-digit year is taken to be at most 50 years after this date.
    package static func parse(_ text: String, now: Date = Date()) -> Date? {
        let words = text.split(whereSeparator: { $0 == " " || $0 == "," }).map(String.init)
        switch words.count {
        case 6 where words[5] == "GMT":
            return date(day: words[1], month: words[2], year: number(words[3], digits: 4), time: words[4])
        case 5 where words[4].utf8.count == 4:
            return date(day: words[2], month: words[1], year: number(words[4], digits: 4), time: words[3])
        case 4 where words[3] == "GMT":
            let parts = words[1].split(separator: "-", omittingEmptySubsequences: false).map(String.init)
            guard parts.count == 3 else { return nil }
            let year = number(parts[2], digits: 2).map { century(of: $0, now) }
            return date(day: parts[0], month: parts[1], year: year, time: words[2])
        default: return nil
        }
    }

    private static func date(day: String, month: String, year: Int?, time: String) -> Date? {
        let time = time.split(separator: ":", omittingEmptySubsequences: false).map { number(String($0), digits: 2) }
        guard let year, let month = months.firstIndex(of: month), time.count == 3,
            let day = number(day, digits: 2) ?? number(day, digits: 1),
            let hour = time[0], let minute = time[1], let second = time[2],
            1...31 ~= day, 0...23 ~= hour, 0...59 ~= minute, 0...60 ~= second
        else { return nil }
        return calendar.date(
            from: DateComponents(year: year, month: month + 1, day: day, hour: hour, minute: minute, second: second))
    }

    private static func number(_ text: String, digits: Int) -> Int? {
        guard text.utf8.count == digits, text.utf8.allSatisfy({ 0x30...0x39 ~= $0 }) else { return nil }
        return Int(text)
    }

    /// The year that ends in these two digits and is at most 50 years ahead.
    private static func century(of year: Int, _ now: Date) -> Int {
        let present = calendar.component(.year, from: now)
        let candidate = present - present % 100 + year
        return candidate > present + 50 ? candidate - 100 : candidate
    }
}
