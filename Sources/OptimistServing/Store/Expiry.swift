// This source file is part of the Optimist open source project, under the MIT licence.

public import Foundation

/// The days before which the server forgets. Days are counted from 1 January 1970, by UTC.
///
/// A deleted row is remembered so that devices which were away hear of it. With it goes all that hung on it: the row
/// that it was merged into, and the values that an edit might have brought back. A device that was away for longer
/// compares what it has with a snapshot.
///
/// Epochs are never forgotten. To a device whose epoch the server does not know it looks as if the server had lost
/// everything, and the device would send again what was deleted long ago.
public struct Expiry: Hashable, Sendable {
    /// Rows that were deleted before this day are forgotten.
    public var deletedBefore: Int
    /// The push numbers of devices that last pushed before this day are forgotten. If such a device's database goes
    /// back by so long, its push number no longer shows that, and little else does.
    public var pushedBefore: Int

    /// Makes the days for a time.
    ///
    /// - Parameters:
    ///   - now: The time of day.
    ///   - tombstoneDays: How many days a deleted row is remembered; some for a day longer. A negative number counts as
    ///     0.
    public init(now: Date, tombstoneDays: Int) {
        let today = Self.day(of: now)
        deletedBefore = today - max(0, tombstoneDays)
        pushedBefore = today - max(365, tombstoneDays)
    }

    /// The day of a time, counted from 1 January 1970 by UTC.
    public static func day(of date: Date) -> Int { Int((date.timeIntervalSince1970 / 86_400).rounded(.down)) }

    /// The last transaction that was certainly made before a day.
    ///
    /// - Parameters:
    ///   - day: The day.
    ///   - seq: The account's last transaction, made on `lastDay`.
    ///   - lastDay: Nil: no transaction was made since days are noted.
    ///   - noted: The account's seq before its first transaction of the earliest noted day from `day` on.
    public static func seq(before day: Int, seq: Int64, lastDay: Int?, noted: Int64?) -> Int64 {
        if let lastDay, lastDay < day { return seq }
        return noted ?? 0
    }
}
