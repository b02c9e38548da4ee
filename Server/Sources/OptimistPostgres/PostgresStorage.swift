// This source file is part of the Optimist open source project, under the MIT licence.

package import CoreMetrics
import Dispatch
import Foundation
package import Logging
import Metrics
package import OptimistCore
public import OptimistServer
import OptimistServing
package import OptimistWire

/// The place of a PostgreSQL database that any number of equal server processes share, and how much of it a process uses.
///
/// It is a plain value: making one connects to nothing, and a wrong URL is found when a server opens the database: see
/// `ServerStorage.postgres(_:secret:)`.
public struct PostgresDatabase: Sendable {
    /// A connection URL of libpq, such as `postgres://user@host1,host2/name?sslmode=verify-full`.
    ///
    /// It may name several hosts: the server uses the one that takes writes. It may set libpq's parameters, for example
    /// `connect_timeout`, which is 3 seconds for each host if the URL does not set it. To use another schema of the database,
    /// add `options=-csearch_path%3DNAME`.
    package var url: String
    /// How many connections a process uses for requests at most. Default: 16.
    ///
    /// The initializer raises a number below 1 to 1. Do not set a lower one later: no request could run. A process opens
    /// up to two more connections: one hears the other processes, and one is open while this process does the
    /// housekeeping.
    package var maxConnections: Int
    /// How many requests of a process may wait for a connection at a time. The server answers further ones with 503. Default:
    /// 1,000.
    ///
    /// The initializer raises a number below 0 to 0. A request for which a connection is free does not wait.
    package var maxWaiting: Int

    /// Names a database. It connects to nothing, and does not check the URL.
    ///
    /// - Parameters:
    ///   - url: A connection URL of libpq, see ``url``. Without a password in it, libpq takes the one in `PGPASSWORD` or in a
    ///     password file.
    ///   - maxConnections: How many connections a process uses for requests at most. Lower numbers than 1 count as 1.
    ///     Default: 16.
    ///   - maxWaiting: How many requests may wait for a connection. Lower numbers than 0 count as 0. Default: 1,000.
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
    /// This function opens nothing: the server does so when it is made. Opening makes the tables if the database has
    /// none, and runs outside the event loops. It is not interrupted when its task is cancelled. It throws
    /// `OptimistError` with one of these codes, and a message that says what to do:
    ///
    /// - `databaseUnreachable`: there is no connection, or the database failed in a way that no other code describes.
    /// - `databaseUnsuitable`: the database cannot serve as it is set up.
    /// - `diskTrouble`: the database's disk is full.
    /// - `newerData`, `unreadableData`: the tables are those of a later server, or of another program.
    /// - `dataInUse`: `optimist copy` into the database has begun and not ended.
    /// - `schemaConflict`: the schema contradicts the data, or the operator has not accepted its changes.
    /// - `wrongSecret`: the other servers have another secret.
    ///
    /// - Parameters:
    ///   - database: The database.
    ///   - secret: The key that signs tokens. All servers of the database must have the same: see `ServerKeys`.
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

/// Opens a database for a server process or an operator's command.
package struct PostgresOpening: Sendable {
    package let database: PostgresDatabase
    package let dependencies: Dependencies
    package let logger: Logger
    /// Receives the pool's figures. Nil: none are collected.
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

    /// How long a process relies on a session's state after it has read it. Another process may have ended the session
    /// meanwhile, and the announcement may have been lost.
    static let standingLifetime = Duration.seconds(30)

    /// Makes or migrates the tables, and nothing else.
    ///
    /// - Throws: `OptimistError` with code `databaseUnreachable`, `databaseUnsuitable`, `diskTrouble`, `newerData` or
    ///   `unreadableData`.
    package func migrate() async throws {
        try await explaining { _ = try migrated() }
    }

    /// Connects to the database, with its tables made or migrated.
    func migrated() throws -> PostgresConnection {
        let connection = try PostgresSetup(database).connectForSetup()
        try PostgresTables.migrate(connection)
        return connection
    }

    /// Returns the schema that the database was last served with, also while servers run. It changes nothing.
    ///
    /// - Returns: Nil if no server has served the database yet.
    /// - Throws: `OptimistError` with code `databaseUnreachable`, `databaseUnsuitable`, `unreadableData` or `schemaConflict`.
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
    /// - Throws: As `ServerStorage.postgres(_:secret:)` says.
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

    /// Carries out an operator's order, and announces to the running servers which sessions it has ended.
    ///
    /// - Parameter keys: The secret of the servers.
    package func carryOut(_ order: AccountOrder, _ keys: ServerKeys) async throws -> JSON {
        try await explaining { try keys.check(try migrated()) }
        let storage = try await assemble(.ofNoRows, keys)
        let answer = try await explainingAsync { try await AccountOffice.carryOut(order, in: storage, dependencies) }
        await (storage.channel as? PostgresChannel)?.drain()
        return answer
    }

    /// Begins an epoch, and returns its name. Running servers use it from their next transaction on.
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

    /// Makes a secret the one that a server needs in order to start. Running servers keep theirs.
    package func replaceSecret(by keys: ServerKeys) async throws {
        try await explaining {
            let connection = try migrated()
            _ = try connection.query(SharedStatement.keepSetting, [.text("secret"), .text(keys.fingerprint)])
        }
    }

    private func assemble(_ schema: Schema, _ keys: ServerKeys) async throws -> OpenedStorage {
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
            rows: PostgresSyncStore(pool: pool, known: epochs, schema: schema),
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

    /// Tries a write. Returns a sentence about the trouble, or nil if it worked.
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

    /// Runs blocking work outside the event loops. A ``PostgresError`` becomes an `OptimistError` with a sentence for an
    /// operator.
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
