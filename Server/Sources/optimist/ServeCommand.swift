// This source file is part of the Optimist open source project, under the MIT licence.

import ArgumentParser
import Foundation
import Logging
import Metrics
import OptimistCore
import OptimistPostgres
import OptimistServer
import OptimistServing
@_spi(Internals) import OptimistWire
import ServiceLifecycle
import UnixSignals

/// Runs a sync server. With a data directory it does not need configuration.
struct ServeCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "serve", abstract: "Run a sync server.",
        discussion: """
            Without arguments it listens on this machine only, and stores its data in your data directory. The first \
            start writes a sample schema there, schema.json: edit it, raise its version, and start again.

            Flags take precedence over the environment, such as OPTIMIST_ADMIN_PORT for --admin-port, and the \
            environment over the file of --config: a JSON object with flag names as keys, as in {"admin-port": 9090}.
            """)

    @Option(help: ArgumentHelp("A file with settings. Default: OPTIMIST_CONFIG in the environment.", valueName: "file"))
    var config: String?

    @Flag(help: "Print each setting with its value and source, and exit.")
    var printConfiguration = false

    @Option(
        help: """
            The address to listen on. If it is not the default, put a TLS proxy in front, except during \
            development in your own network.
            """)
    var host = "127.0.0.1"

    @Flag(
        inversion: .prefixedNo,
        help: "Trust X-Forwarded-For and X-Forwarded-Proto, because your proxy is in front of the server.")
    var behindProxy = false

    @Option(help: "The URL clients use, such as https://sync.example.org. Default: from each request.")
    var publicOrigin: String?

    @Option(help: "The maximum number of rows in a space.")
    var spaceRows = SpaceLimits().rows

    @Option(help: "The maximum number of members of a space, at most 10000.")
    var spaceMembers = SpaceLimits().members

    @Option(
        help: ArgumentHelp(
            "What happens to a space with other members if the account of its only owner is deleted.",
            discussion:
                "inherit: the longest-standing writer becomes an owner, or else reader. end: the space is deleted.",
            valueName: "inherit|end"),
        transform: { try OwnerlessSpaces($0, for: "--ownerless") })
    var ownerless = OwnerlessSpaces.inherit

    @Option(help: "The maximum number of connections per client address. Not limited behind a proxy.")
    var connectionsPerAddress = 512

    @Option(
        help: ArgumentHelp(
            "The most memory that requests and responses may use together, at least 256.",
            discussion: """
                128 MB are for requests being processed. The rest is for bodies and responses that wait for slow \
                clients. When this is full, the server answers large requests with 503, but still accepts small ones.
                """, valueName: "megabytes"))
    var memory = 512

    @Option(
        help: ArgumentHelp(
            "How far a client that reads slower than 8 KB/s may fall behind before the server disconnects it.",
            valueName: "seconds"))
    var readerPatience = 120

    @Option(help: "The port to listen on; 0 takes a free one.")
    var port = 8090

    @Option(
        help: ArgumentHelp(
            "A port on 127.0.0.1 for metrics and the operator's pages; 0 takes a free one. Default: none.",
            discussion: "Every user of this machine can read the app users' data there.",
            valueName: "port"))
    var adminPort: Int?

    @OptionGroup var options: PlaceOptions

    @OptionGroup var shared: DatabaseOptions

    @Flag(help: "Create or migrate the database's tables, and exit.")
    var migrateOnly = false

    @Flag(help: "Replace the database's secret. All users must sign in again.")
    var replaceSecret = false

    @Option(
        help: ArgumentHelp(
            "The schema. Default: the schema the data was last served with.",
            discussion: """
                A later version in schema.json in the data directory becomes the default. A directory without a schema \
                gets a sample.
                """, valueName: "file"))
    var schema: String?

    @Option(
        help: ArgumentHelp(
            "Confirm a schema change that removes data or breaks apps.",
            discussion: """
                May be repeated: drop:TABLE, drop:TABLE.COLUMN, retype:TABLE.COLUMN, require:TABLE.COLUMN, \
                unique:TABLE.COLUMN+COLUMN. Without it the server rejects such a schema, and prints the changes to \
                accept.
                """, valueName: "change"), transform: SchemaChange.parse)
    var accept: [SchemaChange] = []

    @Flag(inversion: .prefixedNo, help: "A sign-in on one device ends the account's sessions on all other devices.")
    var oneDevice = false

    @Option(
        help: "Who may create accounts: open (anyone), invited (see `optimist account invite`) or closed.",
        transform: { try SignUpMode($0, for: "--sign-up") })
    var signUp = SignUpMode.open

    @Option(
        help: ArgumentHelp(
            "A provider whose users may sign in with an identity token.",
            discussion: """
                May be repeated: a preset, then settings, such as "apple audience=org.example.app". The presets are \
                apple, google, firebase:PROJECT, supabase:URL and oidc:ISSUER, the settings \
                \(IdentityProviderOption.explained).
                """, valueName: "provider"), transform: IdentityProviderOption.parse)
    var identityProvider: [IdentityProviderOption] = []

    @Option(
        help: "How people sign in: password, identity or both. Without an identity provider, password.",
        transform: { try SignInMode($0, for: "--sign-in") })
    var signIn = SignInMode.both

    @Option(
        help: ArgumentHelp(
            "An address of your backend that receives every transaction.",
            discussion: """
                May be repeated: a URL, then settings, such as "https://backend.example.org/optimist secret=FILE \
                type=order". The settings are \(EndpointOption.webhookExplained). The name is the host without \
                name=NAME; the server remembers by it what it has sent. Without secret=FILE, the secret is in \
                OPTIMIST_WEBHOOK_SECRET. `optimist webhook secret` creates one.
                """, valueName: "url"), transform: EndpointOption.webhook)
    var webhook: [EndpointOption] = []

    @Option(
        help: ArgumentHelp(
            "An address of your backend that may refuse or amend what clients write, before it is stored.",
            discussion: """
                Only one: a URL, then settings: \(EndpointOption.hookExplained). The deadline, 2 s by default, is for \
                all calls of one request. Writes wait for it, so the address should be near.
                """, valueName: "url"), transform: EndpointOption.hook)
    // An array, because the parser would silently drop all but the last.
    var hook: [EndpointOption] = []

    @Option(
        help: ArgumentHelp(
            "A program that sends reset tokens to their owners. It receives a line of JSON on standard input.",
            valueName: "program"))
    var resetHook: String?

    @Option(help: "How many days the server remembers deleted rows, for devices that are offline.")
    var tombstoneDays = RowSync.Limit.tombstoneDays

    @Option(help: ArgumentHelp("Place names, from `optimist gazetteer import`.", valueName: "file"))
    var gazetteer: String?

    @Option(
        help: ArgumentHelp(
            "Store this app's health, which its devices report to /health/reports. See `optimist health`.",
            valueName: "app"))
    var health: String?

    @OptionGroup var join: JoinOptions

    @Option(
        help: ArgumentHelp(
            "Today's date, to accept the server's clock if it differs by over a day from the last time in the data.",
            discussion: """
                Such as 2026-11-28. Until the clock is accepted, nothing is purged and no session expires. A wrong \
                date has no effect.
                """, valueName: "day"),
        transform: AcceptedTime.parse)
    var acceptTime: Date?

    @Option(help: "The log level: trace, debug, info, notice, warning or error.", transform: LogLevel.parse)
    var logLevel = Logger.Level.notice

    @Option(help: "The log format: text, or json with one object per line.")
    var logFormat = LogFormat.text

    func validate() throws {
        guard (0...65_535).contains(port) else { throw ValidationError("--port must be a number from 0 to 65535.") }
        guard (0...65_535).contains(adminPort ?? 0) else {
            throw ValidationError("--admin-port must be a number from 0 to 65535.")
        }
        guard connectionsPerAddress > 0 else { throw ValidationError("--connections-per-address must be at least 1.") }
        for option in identityProvider { _ = try option.provider() }
        for endpoint in webhook + hook { try endpoint.validate() }
        guard hook.count <= 1 else {
            throw ValidationError("--hook: only one hook is possible. Name one address, which decides about all rows.")
        }
        guard spaceRows > 0 else { throw ValidationError("--space-rows must be at least 1.") }
        guard (1...10_000).contains(spaceMembers) else {
            throw ValidationError("--space-members must be a number from 1 to 10000.")
        }
        guard (256...1_000_000).contains(memory) else {
            throw ValidationError(
                "--memory must be at least 256: 128 MB for requests being processed, the rest for slow clients.")
        }
        guard (1...86_400).contains(readerPatience) else {
            throw ValidationError("--reader-patience must be a number of seconds from 1 to 86400.")
        }
        guard health.map({ (1...64).contains($0.utf8.count) }) ?? true else {
            throw ValidationError("--health must be the name of an app, of 1 to 64 bytes.")
        }
        guard publicOrigin.map(PublicOrigin.isValid) ?? true else {
            throw ValidationError(
                "--public-origin must be a scheme and a host, such as https://sync.example.org, without a path.")
        }
        if let resetHook, !FileManager.default.isExecutableFile(atPath: resetHook) {
            throw ValidationError("--reset-hook must be the path of a program: \(resetHook) is not executable.")
        }
        guard (1...36_500).contains(tombstoneDays) else { throw ValidationError("--tombstone-days must be 1 or more.") }
    }

    func run() async throws {
        let environment = ProcessInfo.processInfo.environment
        let flags = Array(CommandLine.arguments.drop { $0 != "serve" }.dropFirst())
        let settings = try ServeSettings(
            flags: flags, environment: environment, file: config ?? environment["OPTIMIST_CONFIG"])
        let command = try Self.parse(flags + settings.arguments)
        if printConfiguration { return settings.lines(of: command).forEach(say) }
        try await command.serve()
    }

    private func serve() async throws {
        switch try options.place {
        case .database(let url):
            let database = shared.database(url)
            try await explainingErrors(of: "serve", at: database.place) { try await serve(database) }
        case .directory(let directory):
            if migrateOnly || replaceSecret {
                throw ValidationError("--migrate-only and --replace-secret are for a server with --database.")
            }
            try await explainingErrors(of: "serve", at: directory.path) { try await serve(directory) }
        }
    }

    private func serve(_ directory: URL) async throws {
        let schema = try SchemaFile(path: self.schema, directory: directory).read(note: mention)
        try await serve(.directory(directory), schema, at: directory.path)
    }

    private func serve(_ database: PostgresDatabase) async throws {
        let opening = PostgresOpening(database: database, logger: logger)
        if migrateOnly {
            try await opening.migrate()
            return say("The tables of \(database.place) are up to date.")
        }
        let schema = try await self.schema(of: opening)
        let secret = try shared.readSecret()
        if replaceSecret { try await opening.replaceSecret(by: secret) }
        try await serve(.postgres(database, secret: secret), schema, at: database.place)
    }

    private func schema(of opening: PostgresOpening) async throws -> Schema {
        if let schema { return try SchemaFile.Named(path: schema, option: "--schema").read() }
        if let remembered = try await opening.rememberedSchema() { return remembered }
        throw OptimistError(
            .schemaConflict,
            """
            This database does not have a schema yet. Name one with --schema FILE. `optimist schema` exports one from \
            an app's tables.
            """)
    }

    private var logger: Logger {
        var logger = Logger(label: "optimist.server", factory: logFormat.handler)
        logger.logLevel = logLevel
        return logger
    }

    private func serve(_ storage: ServerStorage, _ schema: Schema, at place: String) async throws {
        let logger = logger
        var limits = SpaceLimits()
        (limits.rows, limits.members) = (spaceRows, spaceMembers)
        // Once per process, before the server creates metrics.
        if adminPort != nil { MetricsSystem.bootstrap(PrometheusMetrics()) }
        let server = try await OptimistServer(
            configuration: ServerConfiguration(
                host: host, port: port, storage: storage, schema: schema,
                acceptedChanges: accept, hook: try hook.first.map { try $0.hook() },
                webhooks: try webhook.map { try $0.webhook() }, allowsOneDeviceOnly: oneDevice,
                signUp: signUp, identityProviders: try identityProvider.map { try $0.provider() }, signIn: signIn,
                deliverReset: resetHook.map { ResetHook(program: $0).deliver },
                isBehindProxy: behindProxy, tombstoneDays: tombstoneDays, spaceLimits: limits,
                ownerlessSpaces: ownerless,
                gazetteer: gazetteer.map { URL(filePath: $0) },
                publicOrigin: publicOrigin, connectionsPerAddress: connectionsPerAddress,
                memoryLimit: memory * 1_000_000,
                readerPatience: .seconds(readerPatience), adminPort: adminPort,
                health: health.map { HealthSettings(app: $0) }, joinPage: try join.page(), acceptedTime: acceptTime,
                logger: logger))
        let group = ServiceGroup(
            configuration: .init(
                services: [.init(service: server, successTerminationBehavior: .gracefullyShutdownGroup)],
                gracefulShutdownSignals: [.sigterm, .sigint], logger: logger))
        try await withThrowingTaskGroup(of: Void.self) { tasks in
            tasks.addTask { try await group.run() }
            let port = try await server.port
            mention(
                "Optimist serves http://\(host):\(port) with the schema \"\(schema.id)\", version \(schema.version).")
            let room = OptimistServer.maxConnections()
            mention("It accepts at most \(room) connections, because of the limit on open files (ulimit -n).")
            if let adminPort = try await server.adminPort {
                mention("The operator's pages are at http://127.0.0.1:\(adminPort)/admin, metrics at /metrics.")
            }
            mention("Its data is in \(place). Stop it with Ctrl-C.")
            try await tasks.waitForAll()
        }
    }
}
