// This source file is part of the Optimist open source project, under the MIT licence.

import Foundation
import GRDB
import OptimistCore
@_spi(Internals) import OptimistWire

extension Store {
    /// In milliseconds.
    private static let coarseness: Int64 = 10

    /// Measures the offset of this device's time from the server's (M4). The known offset is kept if, by that offset,
    /// the server may have read its clock between request and answer.
    ///
    /// - Parameter roundTrip: The time until the answer, which has just arrived. Nil if the device's time was set
    ///   during the request, so that the offset cannot be measured.
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
        // If confirmed clocks are far ahead, a restart brings the clock back only as far as those clocks.
        let earliest = max(now, clockFloor.withLock { $0 })
        guard capture.lastStamp.milliseconds > earliest + RowSync.Limit.clockSkewMilliseconds else { return }
        try await restartClock { db in
            var stamps = try Restamping(after: Stamp(milliseconds: now), in: db)
            return try stamps.run()
        }
    }

    /// Due times may follow the old clock. Sending a row too early is better than a day too late.
    private static func boundWaitsOfRows(from now: Int64, in db: Database) throws {
        for table in ["optimist_edit", "optimist_wait"] {
            try db.execute(
                sql: "UPDATE \(table) SET due = ?1 WHERE due > ?1",
                arguments: [now + PushResults.longestPauseMilliseconds])
        }
    }
}

/// Gives new stamps, in the same order, to pending edits whose stamps are later than a given time (M4).
private struct Restamping {
    private let db: Database
    private var entries: RowEntryTable
    /// The given time, or the latest confirmed stamp of a living row if that is later. Deleted rows do not count: until
    /// a page brings the server's stamp, the stamp of a deleted row may be this device's own, and no edit is compared
    /// with that stamp.
    private let start: Stamp
    private var renewed: [Stamp: Stamp] = [:]

    private static let isLiving = """
        LEFT JOIN optimist_edit e ON e.tbl = r.tbl AND e.id = r.id
        WHERE coalesce(e.generation, r.generation) & 1 AND r.generation >= coalesce(e.generation, r.generation)
        """

    init(after moment: Stamp, in db: Database) throws {
        self.db = db
        entries = try RowEntryTable(db)
        let common =
            try Int64.fetchOne(
                db, sql: "SELECT max(r.clock) FROM optimist_remote r \(Self.isLiving)") ?? 0
        let exception = try String.fetchOne(
            db,
            sql: """
                SELECT max(substr(c.value, 1, 16)) FROM optimist_remote r JOIN json_each(r.clocks) c \(Self.isLiving)
                """)
        let lost = try String.fetchOne(
            db,
            sql: """
                SELECT max(substr(s.value, 1, 16)) FROM optimist_edit e, json_each(e.stamps) s
                WHERE e.generation & 1 AND s.type = 'text'
                """)
        let exceptions = [exception, lost].compactMap { $0.flatMap { Int64($0, radix: 16) } }
        start = max(moment, Stamp(rawValue: exceptions.reduce(common, max)))
    }

    /// - Returns: The last stamp given.
    mutating func run() throws -> Stamp {
        let pending = try RowEntryTable.unsent(db).compactMap(entries.entry)
        let ahead = Set(pending.compactMap(\.local).flatMap(\.stamps).filter { $0 > start }).sorted()
        var last = start
        for stamp in ahead {
            last = last.successor
            renewed[stamp] = last
        }
        if ahead.isEmpty { return last }
        for (place, entry) in pending.enumerated() {
            // Places follow the clock, so all places are renumbered.
            var entry = entry
            entry.local?.renew(renewed, place: Int64(place))
            try entries.save(entry)
        }
        try renewGroups()
        return last
    }

    /// A group's name is the stamp of its first transaction.
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

extension LocalEdit {
    fileprivate var stamps: [Stamp] { [group, stamp] + clocks.values.compactMap(\.ownStamp) }
}
