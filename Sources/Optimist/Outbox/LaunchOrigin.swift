// This source file is part of the Optimist open source project, under the MIT licence.

import Foundation
import GRDB
import OptimistCore
import OptimistWire

/// The id under which a launch counts until the server has confirmed that the file did not go back (M3, L3).
///
/// A file that has been replaced by an older copy of itself still has the device id, under which more may have been
/// counted since the copy was made. Of one id the server keeps one total: the other would be lost. So each launch counts
/// under an id of its own first. If the file did go back, what was counted stays under that id. If it did not, the totals
/// are moved to the device's: both are sent, since a copy of the file may have the one that is nothing now.
///
/// In `optimist_node`, `own` is 0 for ids of others and for those whose totals were moved, 1 for those that the device
/// has or had, and 2 for those of launches.
struct LaunchOrigin {
    private let db: Database

    init(_ db: Database) { self.db = db }

    /// A device that is offline for more launches than these goes on with the last id: each of them takes room in each row
    /// that was counted in.
    static let maxUnconfirmed = 64

    /// The id for a launch that begins. It is written down when it is first counted under.
    func begin(makeID: () -> UUID) throws -> String {
        let ids = try String.fetchAll(db, sql: "SELECT device FROM optimist_node WHERE own = 2 ORDER BY number")
        guard let last = ids.last, ids.count >= Self.maxUnconfirmed else { return DeviceIdentity.make(makeID) }
        return last
    }

    /// Leaves everything under the ids it was counted under: the file went back, or is a copy.
    func keep() throws { try db.execute(sql: "UPDATE optimist_node SET own = 1 WHERE own = 2") }

    /// Moves what was counted under ids of launches to the device's. Nobody else has counted under that since.
    func move() throws {
        guard
            try Bool.fetchOne(db.cachedStatement(sql: "SELECT EXISTS (SELECT 1 FROM optimist_node WHERE own = 2)"))
                == true
        else { return }
        let launches = "node IN (SELECT number FROM optimist_node WHERE own = 2)"
        // What was moved before, and is nothing on the server too, is kept until more is: a server that goes back loses it.
        try db.execute(
            sql: """
                DELETE FROM optimist_counter AS c WHERE total = 0 AND confirmed = 0 AND seq > 0
                AND node IN (SELECT number FROM optimist_node WHERE own = 0) AND EXISTS
                (SELECT 1 FROM optimist_counter o WHERE o.tbl = c.tbl AND o.id = c.id AND o.bit = c.bit AND o.\(launches))
                """)
        try db.execute(
            sql: """
                INSERT INTO optimist_counter(tbl, id, bit, node, total, stamp)
                SELECT tbl, id, bit, (SELECT value FROM optimist_meta WHERE name = 'node'), sum(total), max(stamp) + 1
                FROM optimist_counter WHERE \(launches) AND total <> 0 GROUP BY tbl, id, bit
                ON CONFLICT(tbl, id, bit, node) DO UPDATE SET total = total + excluded.total,
                stamp = max(stamp + 1, excluded.stamp)
                """)
        try db.execute(
            sql: "UPDATE optimist_counter SET total = 0, stamp = stamp + 1 WHERE \(launches) AND total <> 0")
        // Nothing of it is to be sent where the column is as the server has it.
        try db.execute(
            sql: """
                DELETE FROM optimist_counter AS c WHERE \(launches) AND total = 0 AND confirmed = 0 AND seq = 0 AND NOT EXISTS
                (SELECT 1 FROM optimist_row r WHERE r.tbl = c.tbl AND r.id = c.id AND r.dirty >> c.bit & 1)
                """)
        try db.execute(sql: "UPDATE optimist_node SET own = 0 WHERE own = 2")
    }
}

extension Store {
    /// A push without rows, which asks whether the server has heard of a later one: it refuses this one then. Nil: there is
    /// nothing to ask, since nothing counts here or the server has confirmed it in this launch.
    func rewindCheck() async throws -> Push? {
        if capture.launchOrigin == nil { return nil }
        return try await read { db in
            Push(number: try Meta.int(.push, in: db) ?? 0, device: try DeviceIdentity.current(in: db), rows: [])
        }
    }

    /// Takes note that the file did not go back. What is counted from now on goes under the device's id.
    func confirmedNoRewind() { capture.count(under: nil) }

    /// Takes a new device id, since another database may go on under this one (L3). What is pending stays so, and what was
    /// counted stays under the ids it was counted under.
    func renewDeviceID() async throws {
        try await apply { db in try DeviceIdentity.renew(in: db, makeID: self.surroundings.makeID) }
        capture.count(under: nil)
    }
}
