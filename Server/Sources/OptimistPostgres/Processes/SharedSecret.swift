// This source file is part of the Optimist open source project, under the MIT licence.

import OptimistCore
import OptimistServer

/// The servers of a database sign tokens with one secret, and the database keeps its fingerprint.
extension ServerKeys {
    /// Refuses a process whose secret differs from that of the servers. Changes nothing.
    ///
    /// - Throws: `OptimistError` with code `wrongSecret`, or ``PostgresError``.
    func check(_ connection: PostgresConnection) throws {
        let known = try connection.query(SharedStatement.setting, [.text("secret")])
        guard known.count == 1, known.text(0, 0) != fingerprint else { return }
        throw OptimistError(
            .wrongSecret,
            """
            This process and the database's other servers have different secrets. Give all of them the same one. If \
            the old one is lost, start once with --replace-secret. All users must then sign in again.
            """)
    }

    /// Makes this the secret of all servers, unless they already have one.
    ///
    /// - Throws: `OptimistError` with code `wrongSecret` if they have another one, or ``PostgresError``.
    func share(_ connection: PostgresConnection) throws {
        try connection.transaction { connection in
            _ = try connection.query(SharedStatement.lockSetup)
            try check(connection)
            try connection.enqueue(SharedStatement.keepSetting, [.text("secret"), .text(fingerprint)])
        }
    }
}
