// This source file is part of the Optimist open source project, under the MIT licence.

import Foundation
import GRDB
import OptimistCore
import OptimistWire

/// The id under which a launch counts until the server has confirmed that the file was not restored from an older copy
/// (M3, L3).
///
/// A restored copy has the same device id, and the device may have counted more since the copy was made. The server
/// keeps one total per id, so it would lose one of the counts. Each launch therefore counts under a separate id. If the
/// file was restored, the counts keep the launch's id. Otherwise they move to the device's id, and the device sends
/// both totals, because a copy of the file may still hold the total that is now zero.
///
/// In `optimist_node`, `own` is 0 for other devices, 1 for ids that this device has or had, 2 for ids of launches, and
/// 3 for ids of launches whose totals were moved. Clocks of rows never contain ids of the last two kinds, so these can
/// be deleted.
struct LaunchOrigin {
    private let db: Database

    init(_ db: Database) { self.db = db }

    /// The maximum number of unconfirmed launch ids. After that, a device that is still offline reuses the last id,
    /// because each id takes up space in every row that it counted in.
    static let maxUnconfirmed = 64

    /// The number of launches whose zeroed totals are kept after the server has them.
    static let maxRemembered = 256

    /// Returns the id for a new launch. It is stored when the launch first counts.
    func begin(makeID: () -> UUID) throws -> String {
        let ids = try String.fetchAll(db, sql: "SELECT device FROM optimist_node WHERE own = 2 ORDER BY number")
        guard let last = ids.last, ids.count >= Self.maxUnconfirmed else { return DeviceIdentity.make(makeID) }
        return last
    }

    /// Keeps all totals under their ids, for a restored or copied file.
    func keep() throws { try db.execute(sql: "UPDATE optimist_node SET own = 1 WHERE own = 2") }

    /// Moves the totals of launches to the device's id. Since these launches counted, no other launch has counted under
    /// the device's id.
    func move() throws {
        let isAny = try Bool.fetchOne(
            db.cachedStatement(sql: "SELECT EXISTS (SELECT 1 FROM optimist_node WHERE own = 2)"))
        if isAny != true { return }
        // Totals that the server already has under a launch's id keep that id. They were sent by an older version of
        // this library, or from a copy of the file.
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

    /// Deletes zeroed totals that were never sent or are zero on the server as well. The latest launches keep their
    /// zeroed totals, to resend them if the server is restored from a backup. If that server lost a row, the row's
    /// totals stay until the server has the row again.
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
