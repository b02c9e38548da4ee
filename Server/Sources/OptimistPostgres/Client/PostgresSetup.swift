// This source file is part of the Optimist open source project, under the MIT licence.

import OptimistCore

/// Makes connections ready for use, and refuses databases that cannot serve.
struct PostgresSetup {
    let database: PostgresDatabase

    init(_ database: PostgresDatabase) { self.database = database }

    /// A process that freezes in a transaction holds an account's lock no longer than this, and no statement waits longer for
    /// one. In seconds.
    private static let patience = 10

    /// Connects to a database that takes writes.
    ///
    /// - Throws: ``PostgresError``, or `OptimistError` with code `databaseUnsuitable`.
    func connect() throws -> PostgresConnection {
        let connection = try PostgresConnection(database.url)
        let settings = try connection.query(SharedStatement.settings)
        guard settings.text(0, 0) == "UTF8" else {
            throw OptimistError(
                .databaseUnsuitable,
                """
                \(database.place) has the encoding \(settings.text(0, 0)). Make a database with UTF-8: CREATE DATABASE NAME \
                ENCODING 'UTF8' TEMPLATE template0.
                """)
        }
        if settings.bool(0, 2) || settings.text(0, 3) == "on" {
            throw PostgresError(.refused("25006"), "The database takes no writes.")
        }
        // An answered push must be durable, whatever the database's default is.
        let durability = settings.text(0, 1) == "off" ? "SET synchronous_commit = on;" : ""
        try connection.script(
            """
            SET idle_in_transaction_session_timeout = '\(Self.patience)s'; SET lock_timeout = '\(Self.patience)s';
            SET client_min_messages = warning; \(durability)
            """)
        return connection
    }

    /// Refuses a pooler that gives each transaction another connection. While one connection holds a transaction open, such a
    /// pooler has to answer the other one from another process of the database.
    ///
    /// - Throws: `OptimistError` with code `databaseUnsuitable`, or ``PostgresError``.
    static func refusePooler(_ database: PostgresDatabase, _ connection: PostgresConnection) throws {
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
