// This source file is part of the Optimist open source project, under the MIT licence.

import GRDB
@_spi(Internals) import OptimistServing

extension SQLiteAccount {
    func note(_ events: [SpaceEvent]) throws {
        let insert = try db.cachedStatement(
            sql: """
                INSERT INTO optimist_audit (account_id, seq, ordinal, at, what, person_id, device, subject, detail)
                VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)
                """)
        for (ordinal, event) in events.enumerated() {
            try meter?.step()
            try insert.execute(arguments: [
                account, seq, ordinal, event.milliseconds, event.what, event.person, event.device, event.subject,
                event.detail,
            ])
        }
    }

    /// Whether a space has expired events, or too many. The fourth parameter is a time, and the fifth a number.
    static let hasExpiredEvents = """
        EXISTS (SELECT 1 FROM optimist_audit WHERE account_id = ?1 AND at < ?4)
            OR EXISTS (SELECT 1 FROM optimist_audit WHERE account_id = ?1 LIMIT 1 OFFSET ?5)
        """

    func forgetEvents(_ expiry: Expiry) throws {
        try db.execute(
            sql: """
                DELETE FROM optimist_audit WHERE account_id = ?1 AND (at < ?2 OR (seq, ordinal) <=
                    (SELECT seq, ordinal FROM optimist_audit WHERE account_id = ?1 ORDER BY seq DESC, ordinal DESC
                    LIMIT 1 OFFSET ?3))
                """, arguments: [account, expiry.auditedBeforeMilliseconds, SpaceEvent.limit])
    }
}
