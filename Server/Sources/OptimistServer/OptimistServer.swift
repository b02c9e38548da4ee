// This source file is part of the Optimist open source project, under the MIT licence.

import Foundation
import Hummingbird
import HummingbirdCore
import Logging
import NIOCore
import OptimistCore
import OptimistGazetteer
@_spi(Internals) import OptimistServing
@_spi(Internals) import OptimistWire
public import ServiceLifecycle
import Synchronization

/// A sync server. Its data is in a directory, or in a database shared by several servers.
///
/// ```swift
/// let server = try await OptimistServer(configuration: ServerConfiguration(storage: .directory(directory), schema: schema))
/// try await server.run()          // until the task is cancelled, or the service group shuts down
/// ```
///
/// It is a `Service`, so it can run in a `ServiceGroup`, which also handles signals.
public final class OptimistServer: Service {
    private let configuration: ServerConfiguration
    let storage: OpenedStorage
    let registry: Accounts
    let pokes: Pokes
    let routes: Routes
    private let binding = Binding()
    private let adminBinding = Binding()
    private let metrics: ServerMetrics?
    private let refusals: RecentRefusals?
    private let reports: AppReports?
    private let deliveries: [WebhookDeliveries]
    private let time: ServerTime

    /// Opens the data, or creates it. The server does not listen yet.
    ///
    /// - Throws: `OptimistError` with code `schemaConflict`, `notAGazetteer`, `badIdentityProvider`,
    ///   `badWebhook`, or a code of the storage. The message says what to do.
    public init(configuration: ServerConfiguration) async throws {
        Self.ignoreBrokenPipes()
        self.configuration = configuration
        let dependencies = configuration.dependencies
        try configuration.schema.checkServable(with: configuration.rowValidation)
        let gazetteer = try configuration.gazetteer.map(Gazetteer.init(at:))
        let providers = try configuration.providers()
        try configuration.checkWebhooks()
        metrics = configuration.metricsReceiver.map(ServerMetrics.init)
        refusals = configuration.adminPort == nil ? nil : RecentRefusals(now: dependencies.now)
        storage = try await configuration.storage.open(configuration)
        time = ServerTime(
            highest: storage.highestTime, accepted: configuration.acceptedTime, now: dependencies.now,
            elapsed: configuration.elapsed ?? dependencies.clock.stopwatch(), logger: configuration.logger)
        reports = configuration.reports(on: storage)
        deliveries = configuration.deliveries(on: storage)
        var followers: [any AccountFollower] = deliveries
        if let reports { followers.append(reports) }
        pokes = Pokes(channel: storage.channel, followers: followers, dependencies: dependencies)
        let service = JMAPService(
            store: storage.rows,
            settings: ServingSettings(
                schema: configuration.schema, makeRowID: { dependencies.makeID().uuidString.lowercased() },
                tombstoneDays: configuration.tombstoneDays, workBudget: configuration.workBudget,
                rowValidation: configuration.rowValidation, hook: configuration.loggingHook,
                spaceLimits: configuration.spaceLimits),
            now: dependencies.now, believed: time.believed)
        let watch = PokeWatch(service: service, pokes: pokes, dependencies: dependencies)
        registry = Accounts(
            storage: storage,
            access: AccessTokens(
                key: storage.keys.access, lifetime: Int(configuration.accessTokenLifetime.components.seconds)),
            passwords: Passwords(cost: configuration.passwordCost), providers: providers, pokes: pokes,
            tell: watch.announce,
            settings: configuration.accountSettings,
            forgetful: configuration.deliverReset == nil ? nil : ForgottenPasswords(),
            log: SecurityLog(logger: configuration.logger, metrics: metrics), dependencies: dependencies,
            now: time.believed)
        let (health, attempts, believed) = (storage.health, storage.attempts, time.believed)
        routes = Routes(
            service: service, accounts: registry, pokes: pokes, gazetteer: gazetteer, dependencies: dependencies,
            memory: MemoryRoom(memory: configuration.memoryLimit), isBehindProxy: configuration.isBehindProxy,
            publicOrigin: configuration.publicOrigin, bodyDeadline: TimeAmount(configuration.bodyTimeout),
            trouble: storage.trouble, metrics: metrics, refusals: refusals,
            health: configuration.health.map {
                HealthReception(
                    store: health, settings: $0, attempts: attempts,
                    rate: AttemptRate(burst: $0.burstPerAddress, interval: configuration.attemptIntervals.health),
                    now: believed)
            }, joinPage: configuration.joinPage)
    }

    /// Listens and answers requests until the task is cancelled, ``shutdown()`` is called, or the service group shuts
    /// down.
    ///
    /// Call it once. When it returns or throws, the data is closed and another server can open it.
    ///
    /// - Throws: `OptimistError` with code `addressInUse` if the port is taken, or `addressUnavailable` if the machine
    ///   does not have the address or the user may not open the port.
    public func run() async throws {
        let group = ServiceGroup(
            configuration: .init(
                services: services.map { .init(service: $0) },
                logger: configuration.logger))
        defer {
            binding.fail(CancellationError())
            adminBinding.fail(CancellationError())
            storage.close()
        }
        guard binding.begin(group) else { return }
        configuration.exposure.warn(configuration)
        do {
            try await group.run()
        } catch {
            let refusal = OptimistError(listeningTo: configuration.host, configuration.port, error) ?? error
            binding.fail(refusal)
            throw refusal
        }
    }

    private var services: [any Service] {
        var services: [any Service] = [application(upTo: Self.maxConnections()), housekeeping] + resetDelivery
        if let file = storage.controlSocket {
            services.append(
                ControlSocket(accounts: registry, imports: imports, file: file, logger: configuration.logger))
        }
        let watch = metrics.map {
            FigureWatch(
                $0, storage: storage, pokes: pokes, deliveries: deliveries, dependencies: configuration.dependencies)
        }
        if let watch { services.append(watch) }
        if let reports { services.append(reports) }
        services += deliveries as [any Service]
        if let port = configuration.adminPort {
            let routes = adminRoutes(watch)
            services.append(
                AdminSite(
                    routes: routes, port: port, connections: configuration.connectionSettings, binding: adminBinding,
                    logger: configuration.logger))
        }
        if let channel = storage.channel {
            services.append(
                OtherProcesses(
                    channel: channel, service: routes.service, accounts: registry, watch: routes.watch))
        }
        return services
    }

    /// For an operator's `optimist import`.
    var imports: RowImport {
        RowImport(
            service: routes.service, accounts: storage.accounts,
            announce: { [watch = routes.watch] in
                watch.announce(account: $0.account, types: $0.types, state: $0.state)
            })
    }

    func adminRoutes(_ watch: FigureWatch?) -> AdminRoutes {
        AdminRoutes(
            storage: storage, accounts: registry, pokes: pokes, schema: configuration.schema,
            spaceRows: configuration.spaceLimits.rows, refusals: refusals,
            metrics: metrics?.factory as? PrometheusMetrics, watch: watch,
            now: configuration.dependencies.now)
    }

    /// - Parameter maxConnections: Further connections wait in the system's queue.
    private func application(upTo maxConnections: Int) -> Application<RouterResponder<ServerContext>> {
        let logger = configuration.logger
        return Application(
            router: makeRouter(),
            server: WatchedChannel.builder(
                configuration.connectionSettings,
                addresses: AddressLimit(configuration.isBehindProxy ? nil : configuration.connectionsPerAddress)),
            configuration: .init(
                address: .hostname(configuration.host, port: configuration.port), serverName: "Optimist",
                availableConnectionsDelegate: MaximumAvailableConnections(maxConnections, logger: logger)),
            onServerRunning: { [binding] channel in
                // First in the pipeline, because NIO's own handler swallows accept errors.
                let pause = channel.eventLoop.submit {
                    try channel.pipeline.syncOperations.addHandler(AcceptPause(logger: logger), position: .first)
                }
                try? await pause.get()
                binding.succeed(channel.localAddress?.port ?? 0)
            },
            logger: logger)
    }

    func makeRouter() -> Router<ServerContext> {
        let router = Router(context: ServerContext.self, options: .autoGenerateHeadEndpoints)
        routes.add(to: router, beside: configuration.routes)
        Routes.refuseOtherMethods(on: router)
        return router
    }

    /// Returns how many connections a server may have. It first raises the process's limit on open files as far as the
    /// system allows, because some systems start with 256.
    package static func maxConnections() -> Int { FileLimit.connections(under: FileLimit.raise()) }

    private var resetDelivery: [any Service] {
        guard let forgetful = registry.forgetful, let deliver = configuration.deliverReset else { return [] }
        return [
            ResetDelivery(forgetful: forgetful, accounts: registry, deliver: deliver, logger: configuration.logger)
        ]
    }

    private var housekeeping: Housekeeping {
        Housekeeping(
            sweep: TombstoneSweep(store: storage.rows, tombstoneDays: configuration.tombstoneDays), accounts: registry,
            health: routes.health, storage: storage, time: time, dependencies: configuration.dependencies,
            logger: configuration.logger)
    }

    /// The port the server listens on. Waits until the server has started.
    ///
    /// - Throws: The error of ``run()`` if the server does not start.
    public var port: Int {
        get async throws { try await binding.port }
    }

    /// The operator's port, or nil if ``ServerConfiguration/adminPort`` is nil. Waits until the server has started.
    ///
    /// - Throws: The error of ``run()`` if the server does not start.
    public var adminPort: Int? {
        get async throws { configuration.adminPort == nil ? nil : try await adminBinding.port }
    }

    /// Stops ``run()`` as soon as the requests in flight are answered. Event streams close at once. After five seconds
    /// the server also closes connections whose client does not send its body or read its answer.
    public func shutdown() async { await binding.shutDown() }

    /// By default these signals kill the process when a client leaves in the middle of an answer or a file reaches its
    /// size limit. If the signals are ignored, they become errors.
    private static func ignoreBrokenPipes() {
        signal(SIGPIPE, SIG_IGN)
        signal(SIGXFSZ, SIG_IGN)
    }
}

extension ServerConfiguration {
    var connectionSettings: WatchedChannel.Settings {
        WatchedChannel.Settings(
            idleTimeout: TimeAmount(idleTimeout), readerPatience: TimeAmount(readerPatience),
            endPatience: TimeAmount(endPatience))
    }

    var accountSettings: Accounts.Settings {
        Accounts.Settings(
            refreshLifetimeSeconds: Double(refreshTokenLifetime.components.seconds),
            allowsOneDeviceOnly: allowsOneDeviceOnly, signUp: signUp, signIn: usedSignIn,
            ownerlessSpaces: ownerlessSpaces,
            attempts: [
                .address: AttemptRate(burst: signInBurstPerAddress, interval: attemptIntervals.address),
                .account: AttemptRate(burst: signInBurstPerAccount, interval: attemptIntervals.account),
                .serviceKey: AttemptRate(burst: signInBurstPerAddress, interval: attemptIntervals.address),
                .reset: AttemptRate(burst: 3, interval: attemptIntervals.reset),
            ],
            types: Set(SpaceTypes().added(to: schema).types.keys))
    }
}
