// This source file is part of the Optimist open source project, under the MIT licence.

import GRDB
@_spi(Internals) import OptimistServing

extension SQLiteAccount {
    /// Records the day of the next transaction. Removes later days, because the clock was wrong when they were
    /// recorded.
    func begin(day: Int) throws {
        guard lastDay != day else { return }
        lastDay = day
        try db.execute(
            sql: "UPDATE optimist_accounts SET day = ? WHERE account_id = ?", arguments: [day, account])
        try db.execute(
            sql: "DELETE FROM optimist_account_days WHERE account_id = ? AND day > ?", arguments: [account, day])
        try db.execute(
            sql: "INSERT OR IGNORE INTO optimist_account_days (account_id, day, first_seq) VALUES (?, ?, ?)",
            arguments: [account, day, seq])
    }

    /// Returns the last transaction that was certainly made before a day.
    private func seq(before day: Int) throws -> Int64 {
        let noted = try Int64.fetchOne(
            db,
            sql: "SELECT first_seq FROM optimist_account_days WHERE account_id = ? AND day >= ? ORDER BY day LIMIT 1",
            arguments: [account, day])
        return Expiry.seq(before: day, seq: seq, lastDay: lastDay, noted: noted)
    }

    func hasExpired(_ expiry: Expiry) throws -> Bool {
        try Bool.fetchOne(
            db,
            sql: """
                SELECT EXISTS (SELECT 1 FROM optimist_rows WHERE account_id = ?1 AND generation % 2 = 0 AND seq <= ?2)
                    OR EXISTS (SELECT 1 FROM optimist_pushes WHERE account_id = ?1 AND day < ?3)
                    OR \(Self.hasExpiredEvents)
                """,
            arguments: [
                account, try seq(before: expiry.deletedBefore), expiry.pushedBefore, expiry.auditedBeforeMilliseconds,
                SpaceEvent.limit,
            ]) ?? false
    }

    func forget(_ expiry: Expiry, limit: Int) throws -> Bool {
        let last = try seq(before: expiry.deletedBefore)
        // The partial index of tombstones has this order.
        let expired = try Row.fetchAll(
            db,
            sql: """
                SELECT rowid, seq FROM optimist_rows WHERE account_id = ? AND generation % 2 = 0 AND seq <= ?
                ORDER BY seq LIMIT ?
                """, arguments: [account, last, limit + 1])
        let remove = try db.cachedStatement(sql: "DELETE FROM optimist_rows WHERE rowid = ?")
        for row in expired.prefix(limit) {
            let (rowID, seq): (Int64, Int64) = (row[0], row[1])
            try remove.execute(arguments: [rowID])
            floor = max(floor, seq)
        }
        try db.execute(sql: "UPDATE optimist_accounts SET floor = ? WHERE account_id = ?", arguments: [floor, account])
        try db.execute(
            sql: "DELETE FROM optimist_pushes WHERE account_id = ? AND day < ?",
            arguments: [account, expiry.pushedBefore])
        try db.execute(
            sql: "DELETE FROM optimist_account_days WHERE account_id = ? AND day < ?",
            arguments: [account, expiry.deletedBefore])
        try forgetEvents(expiry)
        return expired.count > limit
    }
}
