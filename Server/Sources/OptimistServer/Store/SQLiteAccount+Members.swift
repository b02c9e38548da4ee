// This source file is part of the Optimist open source project, under the MIT licence.

import Foundation
import GRDB
@_spi(Internals) import OptimistServing

extension SQLiteAccount {
    /// The stored state of an account, with the reader's membership.
    struct State {
        var seq: Int64 = 0
        var epoch: String?
        var floor: Int64 = 0
        var day: Int?
        var membership: Membership?

        /// The state of a new account.
        init() {}

        /// Nil if the account does not exist, or the reader was never a member.
        init?(of account: String, for reader: Reader, _ db: Database) throws {
            let query = try db.cachedStatement(
                sql: """
                    SELECT a.seq, a.epoch, a.floor, a.day, m.member_id, m.role, m.joined_seq, m.ended_seq, m.reason
                    FROM optimist_accounts a LEFT JOIN optimist_members m
                        ON m.account_id = ?1 AND m.person_id = ?2
                    WHERE a.account_id = ?1 AND (?2 IS NULL OR a.account_id = ?2 OR m.person_id IS NOT NULL)
                    """)
            guard let row = try Row.fetchOne(query, arguments: [account, reader.person]) else { return nil }
            (seq, epoch, floor, day) = (row[0], row[1], row[2], row[3])
            if let person = reader.person, let memberID: String = row[4] {
                membership = Membership(
                    person: person, memberID: memberID, role: row[5], joinedSeq: row[6], endedSeq: row[7],
                    reason: row[8])
            }
        }
    }

    /// Makes the account of a space. Returns false if an account already has this id.
    static func found(_ account: String, _ db: Database) throws -> Bool {
        try db.execute(
            sql: """
                INSERT INTO optimist_accounts (account_id, kind, password, created_at) VALUES (?, 'space', '', ?)
                ON CONFLICT DO NOTHING
                """, arguments: [account, Date().utcText])
        return db.changesCount == 1
    }

    /// Removes an account that was made for a space, if the space was not founded.
    func giveUp() throws {
        for table in ["optimist_pushes", "optimist_accounts"] {
            try db.execute(sql: "DELETE FROM \(table) WHERE account_id = ?", arguments: [account])
        }
    }

    func members() throws -> [Membership] {
        let query = try db.cachedStatement(
            sql: """
                SELECT person_id, member_id, role, joined_seq FROM optimist_members
                WHERE account_id = ? AND ended_seq IS NULL ORDER BY person_id
                """)
        let members = try Row.fetchAll(query, arguments: [account]).map { row in
            Membership(
                person: row[0], memberID: row[1], role: row[2], joinedSeq: row[3], endedSeq: nil, reason: nil)
        }
        try meter?.step(count: 1 + members.count)
        return members
    }

    func note(_ change: MembershipChange) throws {
        if let reason = change.end {
            try db.execute(
                sql: """
                    UPDATE optimist_members SET ended_seq = ?, reason = ?
                    WHERE account_id = ? AND person_id = ? AND member_id = ? AND ended_seq IS NULL
                    """, arguments: [seq, reason.rawValue, account, change.person, change.memberID])
        } else {
            try db.execute(
                sql: """
                    INSERT INTO optimist_members (account_id, person_id, member_id, role, joined_seq)
                    VALUES (?, ?, ?, ?, ?)
                    ON CONFLICT DO UPDATE SET member_id = excluded.member_id, role = excluded.role,
                        joined_seq = CASE WHEN ended_seq IS NULL THEN joined_seq ELSE excluded.joined_seq END,
                        ended_seq = NULL, reason = NULL
                    """, arguments: [account, change.person, change.memberID, change.role.rawValue, seq])
        }
        access.follow(change, as: reader, seq: seq)
    }
}
