// This source file is part of the Optimist open source project, under the MIT licence.

import GRDB
@_spi(Internals) import OptimistServing

extension SQLiteAccount {
    func note(_ events: [SpaceEvent]) throws {
        let insert = try db.cachedStatement(
            sql: """
                INSERT INTO optimist_audit (account_id, seq, ordinal, at, what, person_id, device, subject, detail)
                SELECT ?1, ?2,
                    (SELECT coalesce(max(ordinal) + 1, 0) FROM optimist_audit WHERE account_id = ?1 AND seq = ?2),
                    ?3, ?4, ?5, ?6, ?7, ?8
                WHERE ?9 IS NULL OR NOT EXISTS (SELECT 1 FROM optimist_audit
                    WHERE account_id = ?1 AND what = ?4 AND person_id = ?5 AND detail = ?8 AND at >= ?9)
                """)
        for event in events {
            try meter?.step()
            try insert.execute(arguments: [
                account, seq, event.milliseconds, event.what, event.person, event.device, event.subject, event.detail,
                event.repeatsSince,
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
