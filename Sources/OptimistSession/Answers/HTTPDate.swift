// This source file is part of the Optimist open source project, under the MIT licence.

package import Foundation

/// The date form of HTTP: `Sun, 06 Nov 1994 08:49:37 GMT`.
///
/// > Source: RFC 9110, section 5.6.7. The two obsolete forms are not read.
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

    package static func parse(_ text: String) -> Date? {
        let parts = text.split(separator: " ")
        guard parts.count == 6, parts[5] == "GMT", let month = months.firstIndex(of: String(parts[2])) else {
            return nil
        }
        let time = parts[4].split(separator: ":").compactMap { Int($0) }
        guard let day = Int(parts[1]), let year = Int(parts[3]), time.count == 3 else { return nil }
        guard 1...31 ~= day, 0...23 ~= time[0], 0...59 ~= time[1], 0...60 ~= time[2] else { return nil }
        return calendar.date(
            from: DateComponents(
                year: year, month: month + 1, day: day, hour: time[0], minute: time[1], second: time[2]))
    }
}
