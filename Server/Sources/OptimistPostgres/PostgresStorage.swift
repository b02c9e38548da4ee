// This source file is part of the Optimist open source project, under the MIT licence.

import Dispatch
import Foundation
package import Logging
package import OptimistCore
public import OptimistServer
import OptimistServing
package import OptimistWire

/// A PostgreSQL database that any number of equal server processes share.
public struct PostgresDatabase: Sendable {
    /// A connection URL of PostgreSQL's, such as `postgres://user@host1,host2/name?sslmode=verify-full`.
    public var url: String
    /// How many connections a process opens at most, beside one that listens. Default: 16.
    public var maxConnections: Int
    /// How many requests of a process may wait for a connection. Further ones get 503. Default: 1,000.
    public var maxWaiting: Int

    /// Names a database. Nothing is connected to yet.
    ///
    /// - Parameters:
    ///   - url: A connection URL of PostgreSQL's. A password may come from `PGPASSWORD` or a password file instead.
    ///   - maxConnections: How many connections a process opens at most, at least 1. Default: 16.
    ///   - maxWaiting: How many requests may wait, at least 0. Default: 1,000.
    public init(url: String, maxConnections: Int = 16, maxWaiting: Int = 1_000) {
        self.url = url
        self.maxConnections = max(1, maxConnections)
        self.maxWaiting = max(0, maxWaiting)
    }

    /// The URL without its password, for messages.
    public var place: String {
        url.replacing(/:\/\/([^:@\/]*):[^@\/]*@/) { "://\($0.1)@" }.replacing(/password=[^&\s]*/, with: "password=…")
    }
}

extension ServerStorage {
    /// A PostgreSQL database that any number of servers share, behind any load balancer. PostgreSQL 14 or later.
    ///
    /// Opening it makes the tables if there are none. It throws `OptimistError` with code `databaseUnreachable`,
    /// `databaseUnsuitable`, `newerData`, `unreadableData`, `schemaConflict`, or as ``ServerKeys/init(secret:)``.
    ///
    /// - Parameters:
    ///   - database: The database.
    ///   - secret: What the servers sign tokens with, the same for all of them: see ``ServerKeys``.
    public static func postgres(_ database: PostgresDatabase, secret: ServerKeys) -> Self {
        ServerStorage { configuration in
            try await PostgresOpening(
                database: database, surroundings: configuration.surroundings, logger: configuration.logger
            )
            .open(configuration.schema, accepting: configuration.acceptedChanges, secret)
        }
    }
}

/// Opens a database for a server process or an operator's command.
package struct PostgresOpening: Sendable {
    package let database: PostgresDatabase
    package let surroundings: Surroundings
    package let logger: Logger

    package init(database: PostgresDatabase, surroundings: Surroundings = Surroundings(), logger: Logger) {
        self.database = database
        self.surroundings = surroundings
        self.logger = logger
    }

    /// For how long a session that was looked up counts as it was then, if the processes cannot hear each other.
    static let standingLifetime = Duration.seconds(30)

    /// Makes or migrates the tables, and nothing else.
    package func migrate() async throws {
        try await explaining { try PostgresTables.migrate(try PostgresSetup(database).connect()) }
    }

    package func open(
        _ schema: Schema, accepting changes: [SchemaChange], _ keys: ServerKeys
    ) async throws -> OpenedStorage {
        try await explaining {
            let connection = try PostgresSetup(database).connect()
            try PostgresSetup.refusePooler(database, connection)
            try PostgresTables.migrate(connection)
            try EmbeddedCopy.refuseUnfinished(connection)
            try keys.checkShared(connection)
            try PostgresSchemaRegister.accept(schema, accepting: changes, connection)
        }
        return try await assemble(schema, keys)
    }

    /// Carries out an operator's order. The servers hear of it.
    package func carryOut(_ order: AccountOrder, _ keys: ServerKeys) async throws -> JSON {
        try await migrate()
        // Orders read no rows, so no schema matters.
        let storage = try await assemble(.planner, keys)
        let answer = try await explainingAsync { try await AccountOffice.carryOut(order, in: storage, surroundings) }
        await (storage.channel as? PostgresChannel)?.send()
        return answer
    }

    /// Begins an epoch, and returns its name.
    package func beginEpoch() async throws -> String {
        let name = surroundings.makeEpoch()
        try await explaining { [database] in
            let connection = try PostgresSetup(database).connect()
            try PostgresTables.migrate(connection)
            let life = try DatabaseLife(connection)
            try connection.transaction { connection in
                _ = try connection.query(SharedStatement.lockSetup)
                try DatabaseEpochs.begin(name, life, connection)
            }
        }
        return name
    }

    /// Makes a secret the one that every server must have from now on.
    package func replaceSecret(by keys: ServerKeys) async throws {
        try await explaining { [database] in
            let connection = try PostgresSetup(database).connect()
            try PostgresTables.migrate(connection)
            _ = try connection.query(SharedStatement.keepSetting, [.text("secret"), .text(keys.fingerprint)])
        }
    }

    private func assemble(_ schema: Schema, _ keys: ServerKeys) async throws -> OpenedStorage {
        let epochs = DatabaseEpochs()
        let (database, surroundings) = (database, surroundings)
        let pool = PostgresPool(size: database.maxConnections, maxWaiting: database.maxWaiting, logger: logger) {
            let connection = try PostgresSetup(database).connect()
            try epochs.keepUp(with: DatabaseLife(connection), connection) { surroundings.makeEpoch() }
            return connection
        }
        // The first connection learns the epochs, or begins one.
        try await explainingAsync { try await pool.run { _ in } }
        let probe = SharedProbe(now: surroundings.now) { await Self.attempt(at: $0, pool) }
        let attempts = PostgresAttempts(pool: pool)
        return OpenedStorage(
            rows: PostgresSyncStore(pool: pool, known: epochs, schema: schema),
            accounts: PostgresAccountStore(pool: pool), attempts: attempts, keys: keys,
            trouble: { await probe.trouble() },
            channel: PostgresChannel(pool: pool, sender: surroundings.makeEpoch(), logger: logger) {
                try PostgresSetup(database).connect()
            },
            standingLifetime: Self.standingLifetime,
            alone: { work in await HousekeepingTurn(database: database).carryOut(work, attempts) },
            retained: pool)
    }

    /// Tries a write, and returns what is wrong, in a sentence, or nil.
    private static func attempt(at time: Date, _ pool: PostgresPool) async -> String? {
        do {
            try await pool.run { connection in
                _ = try connection.query(SharedStatement.probe, [.text("\(time.timeIntervalSince1970)")])
            }
            return nil
        } catch {
            return (error as? PostgresError)?.detail ?? "The database cannot be reached."
        }
    }

    /// Runs blocking work beside the event loops. What the database says becomes a sentence for an operator.
    func explaining<Value: Sendable>(_ work: @escaping @Sendable () throws -> Value) async throws -> Value {
        try await explainingAsync {
            try await withCheckedThrowingContinuation { continuation in
                DispatchQueue.global().async { continuation.resume(with: Result { try work() }) }
            }
        }
    }

    private func explainingAsync<Value: Sendable>(_ work: () async throws -> Value) async throws -> Value {
        do { return try await work() } catch let error as PostgresError {
            throw OptimistError(error, at: database.place)
        }
    }
}
