// This source file is part of the Optimist open source project, under the MIT licence.

import Foundation
import OptimistCore
package import OptimistServer
@_spi(Internals) import OptimistServing
@_spi(Internals) package import OptimistWire

extension PostgresOpening {
    /// Exports everything that the database stores about an account or a space, at one moment. Changes nothing. Servers
    /// may keep running.
    ///
    /// - Parameter write: Receives each line, outside the event loops. It may block.
    /// - Throws: What `write` throws. `OptimistError` with code `account.notFound`, `dataInUse` if a copy into the
    ///   database has not finished, and `unreadableData` or `newerData` if the tables are missing or have another
    ///   version.
    package func export(
        _ subject: AccountExport.Subject, _ write: @escaping @Sendable (JSON) throws -> Void
    ) async throws {
        let now = dependencies.now()
        try await explaining {
            try connectForCare().transaction(.beginSnapshot) { connection in
                var export = AccountExport(to: write)
                switch subject {
                case .account(let email): try export.account(email, at: now, connection)
                case .space(let space): try export.space(space, at: now, connection)
                }
                try export.end()
            }
        }
    }
}

extension AccountExport {
    fileprivate mutating func account(_ email: String, at now: Date, _ connection: PostgresConnection) throws {
        guard let address = EmailAddress(email) else { throw OptimistError.noAccount }
        let found = try connection.query(
            SharedStatement.addressOf, [.text(PostgresAccountStore.address(address.text))])
        guard found.count == 1 else { throw OptimistError.noAccount }
        let id = found.text(0, 0)
        let stored = try connection.query(AccountStatement.exported, [.text(id)])
        guard stored.count == 1 else { throw OptimistError.noAccount }
        try account(
            id: id, email: stored.text(0, 2), createdAt: stored.text(0, 0), seq: stored.int64(0, 1), at: now)
        for linked in try PostgresAccountStore.identities(of: id, connection) { try identity(linked) }
        let sessions = try connection.query(AccountStatement.allSessions, [.text(id)])
        for row in 0..<sessions.count { try session(SessionRecord(sessions, row)) }
        let memberships = try Self.memberships(connection.query(SpanningStatement.memberships, [.text(id)]))
        for found in memberships { try membership(found.membership, in: found.account) }
        for found in memberships {
            try events(
                connection.query(AccountStatement.eventsOfPerson, [.text(found.account), .text(id)]), found.account)
        }
        try rows(of: id, in: nil, connection)
        for found in memberships {
            let members = try connection.query(RowStatement.members, [.text(found.account)]).count
            if Self.hasRows(found.membership, ofMembers: members) {
                try rows(of: found.account, in: found.account, connection)
            }
        }
    }

    fileprivate mutating func space(_ space: String, at now: Date, _ connection: PostgresConnection) throws {
        let account = SpaceAccount.id(ofSpace: space.lowercased()) ?? space
        let stored = try connection.query(AccountStatement.exported, [.text(account)])
        guard stored.count == 1, stored.textIfAny(0, 2) == nil else { throw OptimistError.noSpace }
        try self.space(
            account, kind: stored.text(0, 3), createdAt: stored.text(0, 0), seq: stored.int64(0, 1), at: now)
        let members = try connection.query(AccountStatement.allMembers, [.text(account)])
        for found in Self.memberships(members) { try membership(found.membership, in: account) }
        try events(connection.query(AccountStatement.allEvents, [.text(account)]), account)
        try rows(of: account, in: nil, connection)
    }

    private mutating func events(_ rows: PostgresRows, _ account: String) throws {
        for row in 0..<rows.count { try event(AuditedEvent(rows, row), in: account) }
    }

    private static func memberships(_ rows: PostgresRows) -> [(account: String, membership: Membership)] {
        (0..<rows.count).compactMap { row in
            Membership(of: rows.text(row, 1), rows, row, from: 2).map { (rows.text(row, 0), $0) }
        }
    }

    private mutating func rows(
        of account: String, in space: String?, _ connection: PostgresConnection
    ) throws {
        try EmbeddedCopy.forEachPage({ try EmbeddedCopy.rows(of: account, after: $0, connection) }) { page in
            for row in page { try self.row(row, in: space) }
        }
    }
}
