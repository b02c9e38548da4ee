// This source file is part of the Optimist open source project, under the MIT licence.

import Foundation
import Synchronization

final class PhoneClock: Sendable {
    static let chapelZone = "Europe/Berlin"

    private let time: @Sendable () -> Date
    private let ahead = Mutex<TimeInterval>(0)

    init(_ time: @escaping @Sendable () -> Date = { Date() }) { self.time = time }

    var now: Date { time() + ahead.withLock { $0 } }

    func set(to date: Date?) { ahead.withLock { $0 = date?.timeIntervalSince(time()) ?? 0 } }

    func text(in zone: String) -> String {
        let style = Date.ISO8601FormatStyle(timeZone: TimeZone(identifier: zone) ?? .gmt)
        return now.formatted(style.time(includingFractionalSeconds: false))
    }

    /// Returns the date of a time today, such as `09:59:55`. Nil if the text is not a time.
    func today(at text: String, in zone: String) -> Date? {
        let texts = text.split(separator: ":", omittingEmptySubsequences: false)
        let parts = texts.compactMap { $0.utf8.count == 2 ? UInt($0) : nil }.map { Int($0) }
        guard texts.count == 3, parts.count == 3, let zone = TimeZone(identifier: zone) else { return nil }
        var calendar = Calendar(identifier: .gregorian)
        calendar.timeZone = zone
        return calendar.date(bySettingHour: parts[0], minute: parts[1], second: parts[2], of: time())
    }
}
