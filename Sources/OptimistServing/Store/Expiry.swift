// This source file is part of the Optimist open source project, under the MIT licence.

public import Foundation

/// The days before which the server forgets deleted rows and push numbers. Days are counted from 1 January 1970 in UTC.
///
/// The server keeps tombstones so that devices that were offline learn of deletions. When it purges a tombstone, it
/// also forgets which row the deleted row was merged into, and the values that a later edit could revive. If a device
/// was offline longer than the server keeps tombstones, it compares its rows with a snapshot.
///
/// The server never forgets epochs. If it did not recognise a device's epoch, the device would conclude that the server
/// had lost everything, and would send rows that were deleted long ago.
@_spi(Internals) public struct Expiry: Hashable, Sendable {
    /// Rows deleted before this day are purged.
    public var deletedBefore: Int
    /// The push numbers of devices that last pushed before this day are forgotten. The day is at least 365 days ago,
    /// because only the push number shows that such a device's database was restored from a backup.
    public var pushedBefore: Int
    /// Events of spaces from before this day are removed.
    public var auditedBefore: Int

    /// Computes the days for a given time.
    ///
    /// - Parameters:
    ///   - now: The time of day.
    ///   - tombstoneDays: How many days the server remembers a deleted row; it remembers some rows a day longer. A
    ///     negative number counts as 0.
    public init(now: Date, tombstoneDays: Int) {
        let today = Self.day(of: now)
        deletedBefore = today - max(0, tombstoneDays)
        pushedBefore = today - max(365, tombstoneDays)
        auditedBefore = today - SpaceEvent.days
    }

    /// Earlier events are removed. In milliseconds since 1970.
    public var auditedBeforeMilliseconds: Int64 { Int64(auditedBefore) * 86_400_000 }

    /// The day of a time, counted from 1 January 1970 in UTC.
    public static func day(of date: Date) -> Int { Int((date.timeIntervalSince1970 / 86_400).rounded(.down)) }

    /// The last transaction that was certainly made before a day.
    ///
    /// - Parameters:
    ///   - day: The day.
    ///   - seq: The account's last transaction, made on `lastDay`.
    ///   - lastDay: The day of the last transaction. Nil: no transaction's day was ever noted.
    ///   - noted: The account's seq before the first transaction of a noted day: the earliest that is `day` or later.
    public static func seq(before day: Int, seq: Int64, lastDay: Int?, noted: Int64?) -> Int64 {
        if let lastDay, lastDay < day { return seq }
        return noted ?? 0
    }
}
