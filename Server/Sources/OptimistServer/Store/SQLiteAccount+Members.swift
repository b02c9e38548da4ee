// This source file is part of the Optimist open source project, under the MIT licence.

import Foundation
import GRDB
@_spi(Internals) import OptimistServing
@_spi(Internals) import OptimistWire

extension SQLiteAccount {
    /// The stored state of an account, with the reader's membership.
    struct State {
        var kind = AccountKind.person
        var rowCount = 0
        var seq: Int64 = 0
        var epoch: String?
        var floor: Int64 = 0
        var day: Int?
        var membership: Membership?

        /// The state of a new account.
        init(of kind: AccountKind) { self.kind = kind }

        /// Nil if the account does not exist, or if the reader was never a member, does not have a ticket, and the
        /// space is not public.
        init?(of account: String, for reader: Reader, entering entrances: Entrances, _ db: Database) throws {
            let query = try db.cachedStatement(
                sql: """
                    SELECT a.seq, a.epoch, a.floor, a.day, m.member_id, m.role, m.joined_seq, m.ended_seq, m.reason,
                        a.row_count, a.kind
                    FROM optimist_accounts a LEFT JOIN optimist_members m
                        ON m.account_id = ?1 AND m.person_id = ?2
                    WHERE a.account_id = ?1 AND (?2 IS NULL OR a.account_id = ?2 OR m.person_id IS NOT NULL
                        OR a.kind = ?6 OR EXISTS (SELECT 1 FROM optimist_index WHERE account_id = ?1 AND type = ?3 AND name = ?4
                            AND key IN (SELECT value FROM json_each(?5))))
                    """)
            let tickets = entrances.tickets[account]?.map(\.text) ?? []
            let row = try Row.fetchOne(
                query,
                arguments: [
                    account, reader.key, entrances.type, Entrances.index.name, tickets.jsonText,
                    AccountKind.publicSpace.rawValue,
                ])
            guard let row else { return nil }
            kind = AccountKind(text: row[10])
            (seq, epoch, floor, day, rowCount) = (row[0], row[1], row[2], row[3], row[9])
            if let person = reader.person, let memberID: String = row[4] {
                membership = Membership(
                    person: person, memberID: memberID, role: row[5], joinedSeq: row[6], endedSeq: row[7],
                    reason: row[8])
            }
        }
    }

    static func states(
        of accounts: Set<String>, for reader: Reader, epoch: String, _ db: Database
    ) throws -> OpenAccounts<AccountState> {
        let query = try db.cachedStatement(
            sql: """
                SELECT a.account_id, a.seq, m.member_id, m.role, m.joined_seq, m.ended_seq, m.reason, a.kind
                FROM json_each(?1) asked CROSS JOIN optimist_accounts a ON a.account_id = asked.value
                LEFT JOIN optimist_members m ON m.account_id = a.account_id AND m.person_id = ?2
                WHERE ?2 IS NULL OR a.account_id = ?2 OR m.person_id IS NOT NULL OR a.kind = ?3
                """)
        var states = OpenAccounts<AccountState>()
        let arguments: StatementArguments = [
            accounts.sorted().jsonText, reader.key, AccountKind.publicSpace.rawValue,
        ]
        for row in try Row.fetchAll(query, arguments: arguments) {
            var membership: Membership?
            if let person = reader.person, let memberID: String = row[2] {
                membership = Membership(
                    person: person, memberID: memberID, role: row[3], joinedSeq: row[4], endedSeq: row[5],
                    reason: row[6])
            }
            states.add(
                SyncState(epoch: epoch, seq: row[1]), of: row[0], for: reader, membership, AccountKind(text: row[7]))
        }
        let missing = accounts.filter { states.open[$0] == nil && states.ended[$0] == nil }
        states.ended.merge(try endings(in: missing, for: reader, db)) { known, _ in known }
        return states
    }

    /// The ends of the reader's memberships in spaces that were deleted.
    static func endings(in spaces: Set<String>, for reader: Reader, _ db: Database) throws -> [String: AccessEnd] {
        guard let person = reader.person, spaces.contains(where: { SpaceAccount.space(of: $0) != nil }) else {
            return [:]
        }
        let query = try db.cachedStatement(
            sql: """
                SELECT m.account_id, m.member_id, m.role, m.joined_seq, m.ended_seq, m.reason
                FROM json_each(?1) asked CROSS JOIN optimist_members m ON m.account_id = asked.value AND m.person_id = ?2
                WHERE m.ended_seq IS NOT NULL
                """)
        var ends: [String: AccessEnd] = [:]
        for row in try Row.fetchAll(query, arguments: [spaces.sorted().jsonText, person]) {
            let membership = Membership(
                person: person, memberID: row[1], role: row[2], joinedSeq: row[3], endedSeq: row[4], reason: row[5])
            ends[row[0]] = membership.end
        }
        return ends
    }

    /// Makes the account of a space. Returns false if an account has this id, or if a deleted space had it.
    static func found(_ account: String, _ kind: AccountKind, _ db: Database) throws -> Bool {
        try db.execute(
            sql: """
                INSERT INTO optimist_accounts (account_id, kind, password, created_at) SELECT ?1, ?2, '', ?3
                WHERE NOT EXISTS (SELECT 1 FROM optimist_deleted_accounts WHERE account_id = ?1)
                ON CONFLICT DO NOTHING
                """, arguments: [account, kind.rawValue, Date().utcText])
        return db.changesCount == 1
    }

    /// Removes an account that was made for a space, if the space was not founded.
    func giveUp() throws {
        for table in ["optimist_pushes", "optimist_accounts"] {
            try db.execute(sql: "DELETE FROM \(table) WHERE account_id = ?", arguments: [account])
        }
    }

    static func spaces(of person: String, _ db: Database) throws -> SpaceCount {
        let query = try db.cachedStatement(
            sql: """
                SELECT count(*), count(*) FILTER (WHERE role = 'owner') FROM optimist_members
                WHERE person_id = ? AND ended_seq IS NULL
                """)
        return try Row.fetchOne(query, arguments: [person]).map { SpaceCount(all: $0[0], owned: $0[1]) } ?? SpaceCount()
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
