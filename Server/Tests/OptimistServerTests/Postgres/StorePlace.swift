// This source file is part of the Optimist open source project, under the MIT licence.

import Foundation
import Logging
@_spi(Internals) import OptimistServing
@_spi(Internals) import OptimistTesting
import OptimistWire
import Testing

@testable import OptimistPostgres
@testable import OptimistServer

/// A store without a server: embedded, or on PostgreSQL if the tests run on that.
struct StorePlace {
    private let file: StoreFile?
    private let database: PostgresDatabase?

    init() throws {
        database = SharedDatabase.isUsed ? try SharedDatabase.make() : nil
        file = database == nil ? try StoreFile() : nil
    }

    /// Opens the store in an epoch, and begins the epoch unless it is the current one. Creates the accounts that are
    /// missing.
    func open(
        epoch: String, schema: Schema = .planner, accounts: [String] = [StoreFile.account],
        logger: Logger = SharedDatabase.quiet
    ) async throws -> any SyncStore {
        guard let database else { return try #require(file).open(epoch: epoch, accounts: accounts).store }
        return try await Self.open(database, epoch: epoch, schema: schema, accounts: accounts, logger: logger)
    }

    static func open(
        _ database: PostgresDatabase, epoch: String, schema: Schema, accounts: [String] = [StoreFile.account],
        logger: Logger = SharedDatabase.quiet, trace: (@Sendable (String) -> Void)? = nil
    ) async throws -> PostgresSyncStore {
        let epochs = DatabaseEpochs()
        let pool = PostgresPool(size: 2, maxWaiting: 100, logger: logger) {
            let connection = try PostgresSetup(database).connect()
            try PostgresTables.migrate(connection)
            if try epochs.learn(connection).last != epoch { try DatabaseEpochs.begin(epoch, nil, connection) }
            try connection.flush()
            try epochs.learn(connection)
            connection.trace = trace
            return connection
        }
        try await pool.run { connection in
            for account in accounts {
                try connection.script(
                    """
                    INSERT INTO optimist_accounts (account_id, email, password, created_at)
                    VALUES ('\(account)', '\(account)@b', '', '') ON CONFLICT DO NOTHING;
                    INSERT INTO optimist_addresses (address, account_id)
                    VALUES ('\(account)@b', '\(account)') ON CONFLICT DO NOTHING
                    """)
            }
        }
        return PostgresSyncStore(pool: pool, known: epochs, schema: SpaceTypes().added(to: schema))
    }
}
