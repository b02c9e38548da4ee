// This source file is part of the Optimist open source project, under the MIT licence.

import Foundation
@_spi(Internals) import OptimistServing
@_spi(Internals) import OptimistTesting
import OptimistWire
import Testing

@testable import OptimistPostgres
@testable import OptimistServer

/// A store with one account and without a server. It is embedded, or on PostgreSQL if the tests use PostgreSQL.
struct StorePlace {
    private let file: StoreFile?
    private let database: PostgresDatabase?

    init() throws {
        database = SharedDatabase.isUsed ? try SharedDatabase.make() : nil
        file = database == nil ? try StoreFile() : nil
    }

    /// Opens the store in an epoch, and begins the epoch unless it is the current one.
    func open(epoch: String, schema: Schema = .planner) async throws -> any SyncStore {
        guard let database else { return try #require(file).open(epoch: epoch).store }
        return try await Self.open(database, epoch: epoch, schema: schema)
    }

    static func open(_ database: PostgresDatabase, epoch: String, schema: Schema) async throws -> PostgresSyncStore {
        let epochs = DatabaseEpochs()
        let pool = PostgresPool(size: 2, maxWaiting: 100, logger: SharedDatabase.quiet) {
            let connection = try PostgresSetup(database).connect()
            try PostgresTables.migrate(connection)
            if try epochs.learn(connection).last != epoch { try DatabaseEpochs.begin(epoch, nil, connection) }
            try connection.flush()
            try epochs.learn(connection)
            return connection
        }
        try await pool.run { connection in
            try connection.script(
                """
                INSERT INTO optimist_accounts (account_id, email, password, created_at)
                VALUES ('\(StoreFile.account)', 'a@b', '', '') ON CONFLICT DO NOTHING;
                INSERT INTO optimist_addresses (address, account_id)
                VALUES ('a@b', '\(StoreFile.account)') ON CONFLICT DO NOTHING
                """)
        }
        return PostgresSyncStore(pool: pool, known: epochs, schema: schema)
    }
}
