// This source file is part of the Optimist open source project, under the MIT licence.

import GRDB
@_spi(Internals) import OptimistServing

extension SQLiteAccount {
    func note(_ events: [SpaceEvent]) throws -> [SpaceEvent] {
        let latest = try AuditedEvent.latest(SpaceEvent.compared, of: account, in: db)
        try meter?.step(count: latest.count)
        let insert = try db.cachedStatement(
            sql: """
                INSERT INTO optimist_audit (account_id, seq, ordinal, at, what, person_id, device, subject, detail)
                VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)
                """)
        return try AuditedEvent.new(events, at: seq, after: latest).map { audited in
            try meter?.step()
            let (place, event) = (audited.place, audited.event)
            try insert.execute(arguments: [
                account, place.seq, place.ordinal, event.milliseconds, event.what, event.person, event.device,
                event.subject, event.detail,
            ])
            return event
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
