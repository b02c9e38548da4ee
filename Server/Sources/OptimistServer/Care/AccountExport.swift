// This source file is part of the Optimist open source project, under the MIT licence.

package import Foundation
import GRDB
import OptimistCore
@_spi(Internals) package import OptimistServing
@_spi(Internals) package import OptimistWire

/// Writes an account as lines of JSON: the account, its identities, its sessions, its memberships, the events of spaces
/// about it, its rows, and a last line with their counts. If the last line is missing, the export was cut short. The export includes
/// tombstones, but no password hashes or token secrets.
package struct AccountExport {
    package enum Subject: Hashable, Sendable {
        case account(email: String)
        /// By its id or its account.
        case space(String)
    }

    private let write: (JSON) throws -> Void
    private var rows: Int64 = 0
    private var sessions: Int64 = 0
    private var identities: Int64 = 0
    private var memberships: Int64 = 0
    private var events: Int64 = 0

    package init(to write: @escaping (JSON) throws -> Void) { self.write = write }

    package func account(id: String, email: String, createdAt: String, seq: Int64, at now: Date) throws {
        try write([
            "account": [
                "id": .string(id), "email": .string(email), "createdAt": .string(createdAt), "seq": .int(seq),
                "exportedAt": .string(now.utcText),
            ]
        ])
    }

    package func space(_ account: String, kind: String, createdAt: String, seq: Int64, at now: Date) throws {
        try write([
            "space": [
                "id": SpaceAccount.space(of: account).map(JSON.string) ?? .null, "account": .string(account),
                "kind": .string(kind), "createdAt": .string(createdAt), "seq": .int(seq),
                "exportedAt": .string(now.utcText),
            ]
        ])
    }

    /// A membership, present or former.
    package mutating func membership(_ membership: Membership, in account: String) throws {
        memberships += 1
        try write([
            "membership": [
                "space": SpaceAccount.space(of: account).map(JSON.string) ?? .null, "account": .string(account),
                "person": .string(membership.person), "row": .string(membership.memberID),
                "role": .string(membership.role.rawValue), "joinedSeq": .int(membership.joinedSeq),
                "endedSeq": (membership.end?.seq).map(JSON.int) ?? .null,
                "reason": (membership.end?.reason.rawValue).map(JSON.string) ?? .null,
            ]
        ])
    }

    /// An event in the audit of a space.
    package mutating func event(_ audited: AuditedEvent, in account: String) throws {
        events += 1
        var event = audited.json
        event["account"] = .string(account)
        try write(["event": .object(event)])
    }

    /// Whether the rows of a space belong into the export of one of its members.
    ///
    /// - Parameter members: How many members the space has.
    package static func hasRows(_ membership: Membership, ofMembers members: Int) -> Bool {
        membership.end == nil && (membership.role == .owner || members == 1)
    }

    package mutating func identity(_ linked: LinkedIdentity) throws {
        identities += 1
        try write([
            "identity": [
                "issuer": .string(linked.identity.issuer), "subject": .string(linked.identity.subject),
                "linkedAt": .string(Self.text(linked.linkedAt)),
            ]
        ])
    }

    package mutating func session(_ record: SessionRecord) throws {
        sessions += 1
        try write([
            "session": [
                "id": .string(record.id), "deviceId": .string(record.deviceID), "device": .string(record.deviceName),
                "signedInAt": record.begunAt.map { .string(Self.text($0)) } ?? .null,
                "lastUsedAt": .string(Self.text(record.refreshedAt)),
                "ended": (record.ended?.rawValue).map(JSON.string) ?? .null,
            ]
        ])
    }

    /// - Parameters:
    ///   - row: Content that is not JSON becomes null; `optimist check` finds such rows.
    ///   - space: The account of the space that the row is in, in a person's export.
    package mutating func row(_ row: EmbeddedExport.StoredBytes, in space: String? = nil) throws {
        rows += 1
        try write([
            "row": [
                "space": space.map(JSON.string) ?? .null, "type": .string(row.type), "id": .string(row.id),
                "isDeleted": .bool(row.generation % 2 == 0),
                "generation": .int(Int64(row.generation)), "seq": .int(row.seq), "bornSeq": .int(row.bornSeq),
                "content": (try? JSON(parsing: row.content)) ?? .null,
                "memory": row.hidden.flatMap { try? JSON(parsing: $0) } ?? .null,
            ]
        ])
    }

    package func end() throws {
        try write([
            "end": [
                "identities": .int(identities), "sessions": .int(sessions), "memberships": .int(memberships),
                "events": .int(events),
                "rows": .int(rows),
            ]
        ])
    }

    private static func text(_ seconds: Double) -> String { Date(timeIntervalSince1970: seconds).utcText }
}

extension AccountExport {
    /// Exports an account or a space as of one moment, even while a server runs on the directory. Blocks the thread.
    ///
    /// - Parameters:
    ///   - directory: The data directory.
    ///   - write: Receives each line.
    /// - Throws: The error of `write`. `OptimistError` with code `account.notFound`, or with `unreadableData` if there
    ///   is no data or another version of the server wrote it.
    package static func read(
        _ subject: Subject, in directory: URL, at now: Date = Date(), _ write: @escaping (JSON) throws -> Void
    ) throws {
        try ServerDatabase.openForReading(directory).read { db in
            var export = AccountExport(to: write)
            switch subject {
            case .account(let email): try export.account(email, at: now, db)
            case .space(let space): try export.space(space, at: now, db)
            }
            try export.end()
        }
    }

    private mutating func account(_ email: String, at now: Date, _ db: Database) throws {
        let found = try EmailAddress(email).flatMap { address in
            try Row.fetchOne(
                db, sql: "SELECT account_id, email, created_at, seq FROM optimist_accounts WHERE email = ?",
                arguments: [address.text])
        }
        guard let found else { throw OptimistError.noAccount }
        let id: String = found[0]
        try account(id: id, email: found[1], createdAt: found[2], seq: found[3], at: now)
        for linked in try SQLiteAccountStore.identities(of: id, db) { try identity(linked) }
        let sessions = try Row.fetchCursor(
            db,
            sql: """
                SELECT \(SQLiteAccountStore.sessionColumns) FROM optimist_sessions
                WHERE account_id = ? ORDER BY session_id
                """, arguments: [id])
        while let session = try sessions.next() { try self.session(SessionRecord(session)) }
        let memberships = try Self.memberships("person_id", id, db)
        for found in memberships { try membership(found.membership, in: found.account) }
        for found in memberships { try events("AND (person_id = ?2 OR subject = ?2)", found.account, id, db) }
        try rows(of: id, in: nil, db)
        for found in memberships {
            let members = try Self.memberships("account_id", found.account, db).count { $0.membership.end == nil }
            if Self.hasRows(found.membership, ofMembers: members) { try rows(of: found.account, in: found.account, db) }
        }
    }

    private mutating func space(_ space: String, at now: Date, _ db: Database) throws {
        let account = SpaceAccount.id(ofSpace: space.lowercased()) ?? space
        let found = try Row.fetchOne(
            db,
            sql: "SELECT kind, created_at, seq FROM optimist_accounts WHERE account_id = ? AND email IS NULL",
            arguments: [account])
        guard let found else { throw OptimistError.noSpace }
        try self.space(account, kind: found[0], createdAt: found[1], seq: found[2], at: now)
        for found in try Self.memberships("account_id", account, db) { try membership(found.membership, in: account) }
        try events("AND ?2 IS NULL", account, nil, db)
        try rows(of: account, in: nil, db)
    }

    private mutating func events(
        _ condition: String, _ account: String, _ person: String?, _ db: Database
    ) throws {
        let rows = try Row.fetchCursor(
            db,
            sql: """
                SELECT \(AuditedEvent.columns) FROM optimist_audit WHERE account_id = ?1 \(condition)
                ORDER BY seq, ordinal
                """, arguments: [account, person])
        while let row = try rows.next() { try event(AuditedEvent(row), in: account) }
    }

    private static func memberships(
        _ key: String, _ value: String, _ db: Database
    ) throws -> [(account: String, membership: Membership)] {
        try Row.fetchAll(
            db,
            sql: """
                SELECT account_id, person_id, member_id, role, joined_seq, ended_seq, reason FROM optimist_members
                WHERE \(key) = ? ORDER BY account_id, person_id
                """, arguments: [value]
        ).map { row in
            (
                row[0],
                Membership(
                    person: row[1], memberID: row[2], role: row[3], joinedSeq: row[4], endedSeq: row[5], reason: row[6])
            )
        }
    }

    private mutating func rows(of account: String, in space: String?, _ db: Database) throws {
        let rows = try Row.fetchCursor(
            db,
            sql: "SELECT \(EmbeddedExport.rowColumns) FROM optimist_rows WHERE account_id = ? ORDER BY type, id",
            arguments: [account])
        while let row = try rows.next() { try self.row(EmbeddedExport.StoredBytes(row), in: space) }
    }
}
