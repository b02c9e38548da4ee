// This source file is part of the Optimist open source project, under the MIT licence.

import ArgumentParser
import Foundation
import Logging
import Metrics
import OptimistCore
import OptimistPostgres
import OptimistServer
@_spi(Internals) import OptimistWire
import ServiceLifecycle
import UnixSignals

/// `optimist serve`: a sync server. With its data in one directory it needs no configuration.
struct ServeCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "serve", abstract: "Run a sync server.",
        discussion: """
            Without arguments it listens on this machine only and keeps its data in your data directory. The first \
            start writes a sample schema there, schema.json: edit it, raise its version, and start again.

            Settings come from flags, then from the environment, such as OPTIMIST_ADMIN_PORT for --admin-port, then from \
            the file that --config names: one JSON object with flags' names as keys, such as {"admin-port": 9090}.
            """)

    @Option(help: ArgumentHelp("A file with settings. Default: OPTIMIST_CONFIG of the environment.", valueName: "file"))
    var config: String?

    @Flag(help: "Print each setting with its value and where it comes from, and end.")
    var printConfiguration = false

    @Option(
        help: """
            The address to listen on. Put a proxy that speaks TLS before any other than this one, except while you \
            develop in your own network.
            """)
    var host = "127.0.0.1"

    @Flag(
        inversion: .prefixedNo,
        help: "Believe X-Forwarded-For and X-Forwarded-Proto: a proxy of yours stands before the server.")
    var behindProxy = false

    @Option(help: "Where clients reach the server, such as https://sync.example.org. Default: what requests say.")
    var publicOrigin: String?

    @Option(help: "How many connections one address may have at once. Behind a proxy there is no such limit.")
    var connectionsPerAddress = 512

    @Option(
        help: ArgumentHelp(
            "How much memory requests and answers may take up together, at least 256.",
            discussion: """
                128 MB are for requests that are being carried out. The rest is for bodies and answers that wait for slow \
                clients. When it is taken, large requests get 503, and small ones are still answered.
                """, valueName: "megabytes"))
    var memory = 512

    @Option(
        help: ArgumentHelp(
            "How far a client may fall behind 8 KB a second in reading an answer. Past that its connection is closed.",
            valueName: "seconds"))
    var readerPatience = 120

    @Option(help: "The port to listen on. 0: any free one.")
    var port = 8090

    @Option(
        help: ArgumentHelp(
            "A port of 127.0.0.1 with metrics and pages for the operator. 0: any free one. Default: none.",
            discussion: "Every user of this machine can read there what the users of the app wrote.",
            valueName: "port"))
    var adminPort: Int?

    @OptionGroup var options: PlaceOptions

    @OptionGroup var shared: DatabaseOptions

    @Flag(help: "Make or migrate the tables of the database, and end.")
    var migrateOnly = false

    @Flag(help: "Give the database another secret than it had: everybody must sign in again.")
    var replaceSecret = false

    @Option(
        help: ArgumentHelp(
            "The schema. Default: the one that the data was last served with.",
            discussion: """
                A directory may have a later version of it in schema.json, which is then the default. One without a schema \
                gets a sample there.
                """, valueName: "file"))
    var schema: String?

    @Option(
        help: ArgumentHelp(
            "A change of the schema that takes something from apps or rows, and is meant.",
            discussion: """
                May be repeated: drop:TABLE, drop:TABLE.COLUMN, retype:TABLE.COLUMN, require:TABLE.COLUMN, \
                unique:TABLE.COLUMN+COLUMN. Without it the server refuses such a schema, and prints what to accept.
                """, valueName: "change"), transform: SchemaChange.parse)
    var accept: [SchemaChange] = []

    @Flag(inversion: .prefixedNo, help: "Signing in on one device ends the sessions of the account's other devices.")
    var oneDevice = false

    @Option(
        help: "Who may make an account: open (anybody), invited (see `optimist account invite`) or closed.",
        transform: { text in
            guard let mode = SignUpMode(rawValue: text) else {
                throw ValidationError("--sign-up is open, invited or closed.")
            }
            return mode
        })
    var signUp = SignUpMode.open

    @Option(
        help: ArgumentHelp(
            "A program that sends reset tokens to their owners. It gets a line of JSON on its standard input.",
            valueName: "program"))
    var resetHook: String?

    @Option(help: "For how many days deleted rows are remembered, for devices that were away.")
    var tombstoneDays = RowSync.Limit.tombstoneDays

    @Option(help: ArgumentHelp("Names of places, from `optimist gazetteer import`.", valueName: "file"))
    var gazetteer: String?

    @Option(
        help: ArgumentHelp(
            "Keep the health of this app, which its devices report at /health/reports: see `optimist health`.",
            valueName: "app"))
    var health: String?

    @Option(
        help: ArgumentHelp(
            "The present day, to agree to the server's clock after it was more than a day away from the last time in the data.",
            discussion:
                "Such as 2026-11-28. Without it nothing is swept then, and no session expires. Another day does nothing.",
            valueName: "day"),
        transform: AcceptedTime.parse)
    var acceptTime: Date?

    @Option(help: "How much to log: trace, debug, info, notice, warning or error.", transform: LogLevel.parse)
    var logLevel = Logger.Level.notice

    @Option(help: "How to log: text, or json with an object a line.")
    var logFormat = LogFormat.text

    func validate() throws {
        guard (0...65_535).contains(port) else { throw ValidationError("--port is a number from 0 to 65535.") }
        guard (0...65_535).contains(adminPort ?? 0) else {
            throw ValidationError("--admin-port is a number from 0 to 65535.")
        }
        guard connectionsPerAddress > 0 else { throw ValidationError("--connections-per-address is at least 1.") }
        guard (256...1_000_000).contains(memory) else {
            throw ValidationError(
                "--memory is at least 256: 128 MB for requests that are being carried out, the rest for slow clients.")
        }
        guard (1...86_400).contains(readerPatience) else {
            throw ValidationError("--reader-patience is a number of seconds from 1 to 86400.")
        }
        guard health.map({ (1...64).contains($0.utf8.count) }) ?? true else {
            throw ValidationError("--health is the name of an app, of 1 to 64 bytes.")
        }
        guard publicOrigin.map(PublicOrigin.isValid) ?? true else {
            throw ValidationError(
                "--public-origin is a scheme and a host, such as https://sync.example.org, without a path.")
        }
        if let resetHook, !FileManager.default.isExecutableFile(atPath: resetHook) {
            throw ValidationError("--reset-hook names a program with its path: \(resetHook) is none.")
        }
        guard (1...36_500).contains(tombstoneDays) else { throw ValidationError("--tombstone-days is at least 1.") }
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
            The database was never served. Name the schema with --schema FILE. `optimist schema` writes one from an app's \
            tables.
            """)
    }

    private var logger: Logger {
        var logger = Logger(label: "optimist.server", factory: logFormat.handler)
        logger.logLevel = logLevel
        return logger
    }

    private func serve(_ storage: ServerStorage, _ schema: Schema, at place: String) async throws {
        let logger = logger
        // Once in a process, before the server asks for it.
        if adminPort != nil { MetricsSystem.bootstrap(PrometheusMetrics()) }
        let server = try await OptimistServer(
            configuration: ServerConfiguration(
                host: host, port: port, storage: storage, schema: schema,
                acceptedChanges: accept, allowsOneDeviceOnly: oneDevice,
                signUp: signUp, deliverReset: resetHook.map { ResetHook(program: $0).deliver },
                isBehindProxy: behindProxy, tombstoneDays: tombstoneDays,
                gazetteer: gazetteer.map { URL(filePath: $0) },
                publicOrigin: publicOrigin, connectionsPerAddress: connectionsPerAddress,
                memoryLimit: memory * 1_000_000,
                readerPatience: .seconds(readerPatience), adminPort: adminPort,
                health: health.map { HealthSettings(app: $0) }, acceptedTime: acceptTime, logger: logger))
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
            mention("It holds at most \(room) connections, which the limit of open files allows (ulimit -n).")
            if let adminPort = try await server.adminPort {
                mention("The operator's pages are at http://127.0.0.1:\(adminPort)/admin, metrics at /metrics.")
            }
            mention("Its data is in \(place). Stop it with Ctrl-C.")
            try await tasks.waitForAll()
        }
    }
}
