// This source file is part of the Optimist open source project, under the MIT licence.

package import CoreMetrics
import Dispatch
import Foundation
package import Logging
import Metrics
package import OptimistCore
public import OptimistServer
@_spi(Internals) import OptimistServing
package import OptimistWire

/// A PostgreSQL database that any number of equal server processes share, and the resources that each process uses.
///
/// The initializer does not connect to the database. A server reports a wrong URL when it opens the database: see
/// `ServerStorage.postgres(_:secret:)`.
public struct PostgresDatabase: Sendable {
    /// A libpq connection URL, such as `postgres://user@host1,host2/name?sslmode=verify-full`.
    ///
    /// The URL may name several hosts: the server uses the host that accepts writes. The URL may set libpq's
    /// parameters, for example `connect_timeout`, whose default here is 3 seconds for each host. To use another schema
    /// of the database, add `options=-csearch_path%3DNAME`.
    package var url: String
    /// The most connections that a process uses for requests. Default: 16.
    ///
    /// The initializer raises a number below 1 to 1. Do not set a lower number later, because no request could run. A
    /// process opens up to two more connections: one listens to the other processes, and one is open while this process
    /// does the housekeeping.
    package var maxConnections: Int
    /// The most requests of a process that may wait for a connection. The server answers further requests with 503.
    /// Default: 1,000.
    ///
    /// The initializer raises a number below 0 to 0.
    package var maxWaiting: Int

    /// Describes a database without connecting to it or checking the URL.
    ///
    /// - Parameters:
    ///   - url: A libpq connection URL: see ``url``. If it contains no password, libpq uses `PGPASSWORD` or a password
    ///     file.
    ///   - maxConnections: The most connections that a process uses for requests. Numbers below 1 count as 1. Default:
    ///     16.
    ///   - maxWaiting: The most requests that may wait for a connection. Numbers below 0 count as 0. Default: 1,000.
    public init(url: String, maxConnections: Int = 16, maxWaiting: Int = 1_000) {
        self.url = url
        self.maxConnections = max(1, maxConnections)
        self.maxWaiting = max(0, maxWaiting)
    }

    /// The URL without the password, safe to show and to log. A password among the parameters becomes `…`.
    package var place: String { DatabaseURL(url).place }
}

extension ServerStorage {
    /// A PostgreSQL database that any number of servers share, behind any load balancer. PostgreSQL 14 or later.
    ///
    /// When a server is made, it opens the database outside the event loops, and makes the tables if there are none.
    /// Cancelling the task does not interrupt this work. Opening throws `OptimistError` with one of these codes, and a
    /// message that says what to do:
    ///
    /// - `databaseUnreachable`: the server cannot connect, or the database failed in a way that no other code
    ///   describes.
    /// - `databaseUnsuitable`: the database's configuration does not work for a server.
    /// - `diskTrouble`: the database's disk is full.
    /// - `newerData`, `unreadableData`: the tables belong to a later server, or to another program.
    /// - `dataInUse`: `optimist copy` into the database has not finished.
    /// - `schemaConflict`: the schema contradicts the data, or the operator has not accepted its changes.
    /// - `wrongSecret`: the other servers have a different secret.
    ///
    /// - Parameters:
    ///   - database: The database.
    ///   - secret: The key that signs tokens, the same for all servers of the database: see `ServerKeys`.
    public static func postgres(_ database: PostgresDatabase, secret: ServerKeys) -> Self {
        ServerStorage { configuration in
            try await PostgresOpening(
                database: database, dependencies: configuration.dependencies, logger: configuration.logger,
                metrics: configuration.metricsReceiver
            )
            .open(configuration.schema, accepting: configuration.acceptedChanges, secret)
        }
    }
}

package struct PostgresOpening: Sendable {
    package let database: PostgresDatabase
    package let dependencies: Dependencies
    package let logger: Logger
    let metrics: (any MetricsFactory)?

    package init(
        database: PostgresDatabase, dependencies: Dependencies = Dependencies(), logger: Logger,
        metrics: (any MetricsFactory)? = nil
    ) {
        self.metrics = metrics
        self.database = database
        self.dependencies = dependencies
        self.logger = logger
    }

    /// How long a process trusts a session's state after reading it. Another process may have ended the session, and
    /// its announcement may have been lost.
    static let standingLifetime = Duration.seconds(30)

    /// Makes or migrates the tables, without opening the database for a server.
    ///
    /// - Throws: `OptimistError` with code `databaseUnreachable`, `databaseUnsuitable`, `diskTrouble`, `newerData` or
    ///   `unreadableData`.
    package func migrate() async throws {
        try await explaining { _ = try migrated() }
    }

    func migrated() throws -> PostgresConnection {
        let connection = try PostgresSetup(database).connectForSetup()
        try PostgresTables.migrate(connection)
        return connection
    }

    /// Returns the schema that the database was last served with, or nil if no server has served it. Changes nothing.
    /// Servers may keep running.
    ///
    /// - Throws: `OptimistError` with code `databaseUnreachable`, `databaseUnsuitable`, `unreadableData` or
    ///   `schemaConflict`.
    package func rememberedSchema() async throws -> Schema? {
        try await explaining {
            let connection = try PostgresSetup(database).connectForSetup()
            guard try PostgresTables.found(connection) != nil else { return nil }
            let found = try connection.query(CareStatement.latestSchema)
            return try found.count == 0 ? nil : RememberedSchema.schema(of: found.text(0, 1))
        }
    }

    /// Opens the database for a server.
    ///
    /// - Throws: See `ServerStorage.postgres(_:secret:)`.
    package func open(
        _ schema: Schema, accepting changes: [SchemaChange], _ keys: ServerKeys
    ) async throws -> OpenedStorage {
        let highestTime = try await explaining {
            let connection = try migrated()
            try EmbeddedCopy.refuseUnfinished(connection)
            try keys.check(connection)
            try PostgresSchemaRegister.accept(schema, accepting: changes, connection)
            try keys.share(connection)
            return try connection.query(SharedStatement.setting, [.text("time")]).texts.first.flatMap(Double.init)
        }
        var storage = try await assemble(schema, keys)
        storage.highestTime = highestTime
        return storage
    }

    /// Carries out an operator's command. If the command ends sessions, announces this to the running servers.
    package func carryOut(_ order: AccountOrder, _ keys: ServerKeys) async throws -> JSON {
        try await explaining { try keys.check(try migrated()) }
        let schema = try await rememberedSchema()
        let storage = try await assemble(schema ?? .ofNoRows, keys)
        let answer = try await explainingAsync {
            try await AccountOffice.carryOut(order, in: storage, of: schema, dependencies)
        }
        await (storage.channel as? PostgresChannel)?.drain()
        return answer
    }

    /// Imports rows. Servers may keep running, and their devices hear of the rows.
    ///
    /// - Parameter work: Uses the import.
    /// - Throws: What `work` throws, or `OptimistError` with code `schemaConflict` if no server has served the database.
    package func importing(_ keys: ServerKeys, _ work: (RowImport) async throws -> Void) async throws {
        try await explaining { try keys.check(try migrated()) }
        guard let schema = try await rememberedSchema() else { throw OptimistError.noServedSchema(at: database.place) }
        let storage = try await assemble(schema, keys)
        try await explainingAsync {
            try await work(RowImport(into: storage, schema: schema, dependencies: dependencies))
        }
        await (storage.channel as? PostgresChannel)?.drain()
    }

    /// Begins an epoch, and returns its name. Running servers use the new epoch from their next transaction.
    package func beginEpoch() async throws -> String {
        let name = dependencies.makeEpoch()
        try await explaining { try beginEpoch(name, try migrated()) }
        return name
    }

    func beginEpoch(_ name: String, _ connection: PostgresConnection) throws {
        let life = try DatabaseLife(connection)
        try connection.transaction { connection in
            _ = try connection.query(SharedStatement.lockSetup)
            try DatabaseEpochs.begin(name, life, connection)
        }
    }

    /// Replaces the secret that a server must have to start. Running servers keep their secret.
    package func replaceSecret(by keys: ServerKeys) async throws {
        try await explaining {
            let connection = try migrated()
            _ = try connection.query(SharedStatement.keepSetting, [.text("secret"), .text(keys.fingerprint)])
        }
    }

    func assemble(_ schema: Schema, _ keys: ServerKeys) async throws -> OpenedStorage {
        let epochs = DatabaseEpochs()
        let (database, dependencies) = (database, dependencies)
        let open: @Sendable () throws -> PostgresConnection = {
            let connection = try PostgresSetup(database).connect()
            try epochs.keepUp(with: DatabaseLife(connection), connection) { dependencies.makeEpoch() }
            return connection
        }
        let pool = PostgresPool(
            size: database.maxConnections, maxWaiting: database.maxWaiting, logger: logger,
            wait: metrics.map { Timer(label: "optimist.pool.wait", dimensions: [], factory: $0) }, open: open)
        try await explainingAsync { try await pool.run { _ in } }
        let probe = SharedProbe(now: dependencies.now) { await Self.attempt(at: $0, pool) }
        return OpenedStorage(
            rows: PostgresSyncStore(pool: pool, known: epochs, schema: SpaceTypes().added(to: schema)),
            accounts: PostgresAccountStore(pool: pool), health: PostgresHealthStore(pool: pool),
            attempts: PostgresAttempts(pool: pool),
            keys: keys,
            trouble: { await probe.trouble() },
            channel: PostgresChannel(
                pool: pool, sender: dependencies.makeEpoch(), logger: logger, epoch: { epochs.present }, open: open),
            standingLifetime: Self.standingLifetime,
            exclusively: { work in
                await ExclusiveTurn(database: database, lock: .tryHousekeeping).carryOut(work)
            },
            reporting: { work in
                await ExclusiveTurn(database: database, lock: .tryReporting).carryOut(work)
            },
            delivering: { webhook, work in
                await ExclusiveTurn(database: database, lock: .tryDelivering, name: webhook).carryOut(work)
            },
            keepTime: { time, replaces in
                let statement: SharedStatement = replaces ? .keepSetting : .raiseSetting
                try await pool.run { _ = try $0.query(statement, [.text("time"), .text("\(time)")]) }
            },
            figures: { try await Self.figures(pool) })
    }

    private static func figures(_ pool: PostgresPool) async throws -> StorageFigures {
        let (database, log) = try await pool.run { connection in
            let size = try connection.query(SharedStatement.databaseSize).int64(0, 0)
            guard try connection.query(SharedStatement.canSeeLog).bool(0, 0) else { return (size, Int64?.none) }
            return (size, try connection.query(SharedStatement.logSize).int64(0, 0))
        }
        return StorageFigures(
            databaseBytes: database, logBytes: log, waiting: pool.waitingCount, pool: pool.figures)
    }

    private static func attempt(at time: Date, _ pool: PostgresPool) async -> String? {
        do {
            try await pool.run { connection in
                _ = try connection.query(
                    SharedStatement.keepSetting, [.text("ready"), .text("\(time.timeIntervalSince1970)")])
            }
            return nil
        } catch {
            return (error as? PostgresError)?.detail ?? "The database cannot be reached."
        }
    }

    /// Runs blocking work outside the event loops. Turns a ``PostgresError`` into an `OptimistError` with a message for
    /// an operator.
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
