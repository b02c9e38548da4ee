// This source file is part of the Optimist open source project, under the MIT licence.

import OptimistCore

struct PostgresSetup {
    let database: PostgresDatabase

    init(_ database: PostgresDatabase) { self.database = database }

    /// How long a statement waits for a lock, and how long a transaction may be idle before the server ends it, in
    /// seconds. A process that freezes in a transaction thus releases the account's lock.
    private static let patience = 10

    /// Connects to a database that accepts writes. Blocks the thread.
    ///
    /// - Parameter isPatient: Whether statements may wait while another process makes or migrates the tables.
    /// - Throws: ``PostgresError``, or `OptimistError` with code `databaseUnsuitable` if the encoding is not UTF-8.
    func connect(isPatient: Bool = false) throws -> PostgresConnection {
        let connection = try PostgresConnection(database.url, patience: isPatient ? 3_600 : 30)
        let settings = try connection.query(SharedStatement.settings)
        guard settings.text(0, 0) == "UTF8" else {
            throw OptimistError(
                .databaseUnsuitable,
                """
                \(database.place) has the encoding \(settings.text(0, 0)). Create a database with UTF-8: CREATE DATABASE \
                NAME ENCODING 'UTF8' TEMPLATE template0.
                """)
        }
        if settings.bool(0, 2) || settings.text(0, 3) == "on" {
            throw PostgresError(.refused("25006"), "The database does not accept writes.")
        }
        // A confirmed push must be durable, even if the database's default is off.
        let durability = settings.text(0, 1) == "off" ? "SET synchronous_commit = on;" : ""
        try connection.script(
            """
            SET idle_in_transaction_session_timeout = '\(Self.patience)s'; SET lock_timeout = '\(isPatient ? 3_600 : Self.patience)s';
            SET client_min_messages = warning; SET idle_session_timeout = 0; SET client_connection_check_interval = '2s';
            \(durability)
            """)
        return connection
    }

    func connectForSetup() throws -> PostgresConnection {
        let connection = try connect(isPatient: true)
        try Self.refusePooler(database, connection)
        return connection
    }

    /// Refuses a pooler that may assign each transaction to another backend process.
    ///
    /// A second connection opens a transaction and keeps its backend busy. If the first connection is then served by a
    /// different backend than before, there is such a pooler.
    ///
    /// - Throws: `OptimistError` with code `databaseUnsuitable`, or ``PostgresError``.
    private static func refusePooler(_ database: PostgresDatabase, _ connection: PostgresConnection) throws {
        let before = try connection.query(SharedStatement.backend).int(0, 0)
        if before == connection.processID { return }
        let other = try PostgresConnection(database.url)
        let after: Int? = try? other.transaction { other in
            _ = try other.query(SharedStatement.backend)
            return try connection.query(SharedStatement.backend).int(0, 0)
        }
        if after != before {
            throw OptimistError(.databaseUnsuitable, OptimistError.pooler(database.place))
        }
    }
}
