// This source file is part of the Optimist open source project, under the MIT licence.

import Foundation
import GRDB
import OptimistWire
import Synchronization

extension Store {
    /// The assumed coarseness of a clock, in milliseconds.
    private static let coarseness: Int64 = 10

    /// Measures by an answer of the server how far this device's time of day is off (M4).
    ///
    /// The server's clock was read somewhere between the request and the answer. The known offset stands for as long as
    /// that allows it.
    ///
    /// - Parameter roundTrip: The time from the request to the answer, which has just come. Nil: the device's time of day was
    ///   set meanwhile, and nothing can be measured.
    func correctClock(by serverTime: Date?, roundTrip: Duration?) async throws {
        guard let serverTime, let roundTrip else { return }
        let half = roundTrip.milliseconds / 2
        let measured = Int64((serverTime.timeIntervalSince1970 * 1000).rounded()) + half - milliseconds
        if abs(measured - clockOffset.withLock { $0 }) > half + Self.coarseness {
            try await apply { db in
                try Meta.set(.clockOffset, to: measured, in: db)
                try Self.boundWaitsOfRows(from: self.milliseconds + measured, in: db)
            }
            clockOffset.withLock { $0 = measured }
        }
        let now = correctedMilliseconds
        // Where confirmed clocks are far ahead themselves, beginning again brings the clock no further back than that.
        let earliest = max(now, clockFloor.withLock { $0 })
        guard capture.lastStamp.milliseconds > earliest + RowSync.Limit.clockSkewMilliseconds else { return }
        try await restartClock { db in
            var stamps = try Restamping(after: Stamp(milliseconds: now), in: db)
            return try stamps.run()
        }
    }

    /// Rows that wait may do so by the clock as it was. To ask too soon is better than a day too late.
    private static func boundWaitsOfRows(from now: Int64, in db: Database) throws {
        for table in ["optimist_row", "optimist_wait"] {
            try db.execute(
                sql: "UPDATE \(table) SET due = ?1 WHERE due > ?1", arguments: [now + Booking.longestPauseMilliseconds])
        }
    }
}

/// Gives later stamps than a moment to all that is pending and has still later ones, in their order (M4).
private struct Restamping {
    private let db: Database
    private var entries: RowEntryTable
    /// The moment, or the latest confirmed stamp of a living row if that is later. That of a deleted one may be this device's own
    /// until a page tells the server's, and no edit is measured against it.
    private let start: Stamp
    private var renewed: [Stamp: Stamp] = [:]

    init(after moment: Stamp, in db: Database) throws {
        self.db = db
        entries = try RowEntryTable(db)
        let common =
            try Int64.fetchOne(
                db, sql: "SELECT max(clock) FROM optimist_row WHERE generation & 1 AND acked >= generation") ?? 0
        let exception = try String.fetchOne(
            db,
            sql: """
                SELECT max(substr(c.value, 1, 16)) FROM optimist_row r, json_each(r.clocks) c
                WHERE r.generation & 1 AND r.acked >= r.generation
                """)
        start = max(moment, Stamp(rawValue: max(common, exception.flatMap { Int64($0, radix: 16) } ?? 0)))
    }

    /// Returns the last stamp given.
    mutating func run() throws -> Stamp {
        let rows = try Row.fetchAll(
            db, sql: "SELECT tbl, id FROM optimist_row WHERE pending IS NOT NULL ORDER BY pending, key")
        let pending = try rows.compactMap { try entries.entry(RowRef(table: $0[0], id: $0[1])) }
        let ahead = Set(pending.flatMap(\.unsentStamps).filter { $0 > start }).sorted()
        var last = start
        for stamp in ahead {
            last = last.successor
            renewed[stamp] = last
        }
        for entry in pending where entry.unsentStamps.contains(where: { $0 > start }) {
            var entry = entry
            entry.pending = renewed(entry.pending)
            entry.stamp = renewed(entry.stamp)
            entry.stamps = entry.stamps.mapValues { renewed($0) ?? $0 }
            try entries.save(entry)
        }
        try renewGroups()
        return last
    }

    private func renewed(_ stamp: Stamp?) -> Stamp? { stamp.map { renewed[$0] ?? $0 } }

    /// Groups are named by the stamp of their first transaction.
    private func renewGroups() throws {
        let joins = try Row.fetchAll(db, sql: "SELECT a, b FROM optimist_join")
        let wholes = try Int64.fetchAll(db, sql: "SELECT grp FROM optimist_whole")
        try db.execute(sql: "DELETE FROM optimist_join; DELETE FROM optimist_whole")
        func group(_ name: Int64) -> Int64 { renewed[Stamp(rawValue: name)]?.rawValue ?? name }
        for join in joins {
            try db.execute(
                sql: "INSERT OR IGNORE INTO optimist_join VALUES (?, ?)", arguments: [group(join[0]), group(join[1])])
        }
        for whole in wholes {
            try db.execute(sql: "INSERT OR IGNORE INTO optimist_whole VALUES (?)", arguments: [group(whole)])
        }
    }
}

extension RowEntry {
    fileprivate var unsentStamps: [Stamp] { [pending, stamp].compactMap(\.self) + stamps.values }
}
