// This source file is part of the Optimist open source project, under the MIT licence.

import OptimistCore
import OptimistServer
package import OptimistWire

extension PostgresOpening {
    /// Exports everything that the database stores about an account, at one moment. Changes nothing. Servers may keep
    /// running.
    ///
    /// - Parameter write: Receives each line, outside the event loops. It may block.
    /// - Throws: What `write` throws. `OptimistError` with code `account.notFound`, `dataInUse` if a copy into the
    ///   database has not finished, and `unreadableData` or `newerData` if the tables are missing or have another
    ///   version.
    package func export(_ email: String, _ write: @escaping @Sendable (JSON) throws -> Void) async throws {
        let now = dependencies.now()
        try await explaining {
            try connectForCare().transaction(.beginSnapshot) { connection in
                guard let address = EmailAddress(email) else { throw OptimistError.noAccount }
                let found = try connection.query(
                    SharedStatement.addressOf, [.text(PostgresAccountStore.address(address.text))])
                guard found.count == 1 else { throw OptimistError.noAccount }
                let id = found.text(0, 0)
                let account = try connection.query(AccountStatement.exported, [.text(id)])
                guard account.count == 1 else { throw OptimistError.noAccount }
                var export = AccountExport(to: write)
                try export.account(
                    id: id, email: account.text(0, 2), createdAt: account.text(0, 0), seq: account.int64(0, 1), at: now)
                let sessions = try connection.query(AccountStatement.allSessions, [.text(id)])
                for row in 0..<sessions.count { try export.session(SessionRecord(sessions, row)) }
                try EmbeddedCopy.forEachPage({ try EmbeddedCopy.rows(of: id, after: $0, connection) }) { page in
                    for row in page { try export.row(row) }
                }
                try export.end()
            }
        }
    }
}
