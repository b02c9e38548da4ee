// This source file is part of the Optimist open source project, under the MIT licence.

import Foundation
import GRDB
import OptimistCore
import OptimistWire

/// The id under which a launch counts until the server has confirmed that the file did not go back (M3, L3).
///
/// If an older copy of the app's file replaced the file, the copy still has the device id, and the device may have counted more
/// under that id since the copy was made. The server keeps one total for each id, so it would lose the other count. Each launch
/// therefore first counts under an id of its own. If the file did go back, the counts stay under that id. If it did not, the
/// totals move to the device's id. The device then sends both totals, because a copy of the file may still hold the total that
/// is now zero.
///
/// In `optimist_node`, `own` is 0 for ids of other devices, 1 for ids that this device has or had, 2 for ids of launches, and 3
/// for ids of launches whose totals were moved. No clock of a row names an id of the last two kinds, so such ids can be
/// deleted.
struct LaunchOrigin {
    private let db: Database

    init(_ db: Database) { self.db = db }

    /// The most launches whose ids may be unconfirmed. After that many, a device that is still offline reuses the last id,
    /// because each id takes up space in every row that was counted in.
    static let maxUnconfirmed = 64

    /// The number of launches whose zeroed totals are remembered after the server has them.
    static let maxRemembered = 256

    /// Returns the id for a launch that begins. The id is stored when the launch first counts under it.
    func begin(makeID: () -> UUID) throws -> String {
        let ids = try String.fetchAll(db, sql: "SELECT device FROM optimist_node WHERE own = 2 ORDER BY number")
        guard let last = ids.last, ids.count >= Self.maxUnconfirmed else { return DeviceIdentity.make(makeID) }
        return last
    }

    /// Leaves all totals under the ids that they were counted under, because the file went back or is a copy.
    func keep() throws { try db.execute(sql: "UPDATE optimist_node SET own = 1 WHERE own = 2") }

    /// Moves the totals of launches to the device's id. No other launch has counted under the device's id since.
    func move() throws {
        let isAny = try Bool.fetchOne(
            db.cachedStatement(sql: "SELECT EXISTS (SELECT 1 FROM optimist_node WHERE own = 2)"))
        if isAny != true { return }
        // A total that the server has under a launch's id stays there: an older version of this library or a copy of the file
        // sent it.
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

    /// Deletes zeroed totals that were never sent and will not be sent, and those that the server also has as zero. The totals
    /// of the latest launches stay, because the device must send them again to a server that goes back. If such a server lost a
    /// row, all totals of the row stay until the server has the row again.
    private func forget() throws {
        try db.execute(
            sql: """
                DELETE FROM optimist_counter AS c
                WHERE node IN (SELECT number FROM optimist_node WHERE own = 3) AND total = 0 AND confirmed = 0
                AND (seq = 0 OR node IN
                (SELECT number FROM optimist_node WHERE own = 3 ORDER BY number DESC LIMIT -1 OFFSET ?))
                AND NOT EXISTS (SELECT 1 FROM optimist_edit r
                WHERE r.tbl = c.tbl AND r.id = c.id AND r.dirty >> c.bit & 1
                AND (c.seq = 0 OR EXISTS (SELECT 1 FROM json_each(r.stamps) WHERE type = 'text')))
                """, arguments: [Self.maxRemembered])
        try db.execute(
            sql: "DELETE FROM optimist_node WHERE own = 3 AND number NOT IN (SELECT node FROM optimist_counter)")
    }
}
