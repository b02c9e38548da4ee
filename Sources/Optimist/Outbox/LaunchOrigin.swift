// This source file is part of the Optimist open source project, under the MIT licence.

import Foundation
import GRDB
import OptimistCore
import OptimistWire

/// The id under which a launch counts until the server has confirmed that the file did not go back (M3, L3).
///
/// If the app's file was replaced by an older copy of itself, it still has the device id, and the device may have
/// counted more under that id since the copy was made. The server keeps one total for each id, so the other count would
/// be lost. So each launch counts under an id of its own first. If the file did go back, the counts stay under that id.
/// If it did not, the totals move to the device's id: both are sent, because a copy of the file may have the total that
/// is zero now.
///
/// In `optimist_node`, `own` is 0 for ids of others, 1 for those that the device has or had, 2 for those of launches, and 3 for
/// those whose totals were moved. The last two stand in no clock of a row, so that they can be forgotten.
struct LaunchOrigin {
    private let db: Database

    init(_ db: Database) { self.db = db }

    /// A device that is offline for more launches than these goes on with the last id: each of them takes room in each row
    /// that was counted in.
    static let maxUnconfirmed = 64

    /// The number of launches whose zeroed totals are remembered after the server has them.
    static let maxRemembered = 256

    /// The id for a launch that begins. It is written down when it is first counted under.
    func begin(makeID: () -> UUID) throws -> String {
        let ids = try String.fetchAll(db, sql: "SELECT device FROM optimist_node WHERE own = 2 ORDER BY number")
        guard let last = ids.last, ids.count >= Self.maxUnconfirmed else { return DeviceIdentity.make(makeID) }
        return last
    }

    /// Leaves everything under the ids it was counted under: the file went back, or is a copy.
    func keep() throws { try db.execute(sql: "UPDATE optimist_node SET own = 1 WHERE own = 2") }

    /// Moves the totals of launches to the device's id. No other launch has counted under that id since.
    func move() throws {
        let isAny = try Bool.fetchOne(
            db.cachedStatement(sql: "SELECT EXISTS (SELECT 1 FROM optimist_node WHERE own = 2)"))
        if isAny != true { return }
        // What the server has under an id stays there. An older version of this library has sent it, or a copy of the file.
        try db.execute(
            sql: """
                UPDATE optimist_node SET own = 1
                WHERE own = 2 AND number IN (SELECT node FROM optimist_counter WHERE confirmed <> 0)
                """)
        let isLaunch = "node IN (SELECT number FROM optimist_node WHERE own = 2)"
        try db.execute(
            sql: """
                INSERT INTO optimist_counter(tbl, id, bit, node, total, stamp)
                SELECT tbl, id, bit, (SELECT value FROM optimist_meta WHERE name = 'node'), sum(total), max(stamp) + 2
                FROM optimist_counter WHERE \(isLaunch) AND total <> 0 GROUP BY tbl, id, bit
                ON CONFLICT(tbl, id, bit, node) DO UPDATE SET total = total + excluded.total,
                stamp = max(stamp + 1, excluded.stamp)
                """)
        try db.execute(
            sql: "UPDATE optimist_counter SET total = 0, stamp = stamp + 1 WHERE \(isLaunch) AND total <> 0")
        try db.execute(sql: "UPDATE optimist_node SET own = 3 WHERE own = 2")
        try forget()
    }

    /// Forgets zeroed totals that were never sent and are not about to be, and those that the server has as zero too.
    /// Those of the latest launches stay, because a server that goes back must be told of them again.
    private func forget() throws {
        try db.execute(
            sql: """
                DELETE FROM optimist_counter AS c
                WHERE node IN (SELECT number FROM optimist_node WHERE own = 3) AND total = 0 AND confirmed = 0
                AND (seq = 0 OR node IN
                (SELECT number FROM optimist_node WHERE own = 3 ORDER BY number DESC LIMIT -1 OFFSET ?))
                AND NOT EXISTS (SELECT 1 FROM optimist_row r
                WHERE r.tbl = c.tbl AND r.id = c.id AND (r.healing OR c.seq = 0 AND r.dirty >> c.bit & 1))
                """, arguments: [Self.maxRemembered])
        try db.execute(
            sql: "DELETE FROM optimist_node WHERE own = 3 AND number NOT IN (SELECT node FROM optimist_counter)")
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

    /// Notes that the file did not go back. From now on the device counts under its own id.
    func confirmedNoRewind() { capture.count(under: nil) }

    /// Takes a new device id, because another database may go on under this one (L3). Pending rows stay pending, and
    /// totals stay under the ids that they were counted under.
    func renewDeviceID() async throws {
        try await apply { db in try DeviceIdentity.renew(in: db, makeID: self.surroundings.makeID) }
        capture.count(under: nil)
    }
}
