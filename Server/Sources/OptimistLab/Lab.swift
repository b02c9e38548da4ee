// This source file is part of the Optimist open source project, under the MIT licence.

package import Foundation
import Hummingbird
package import Logging
import NIOCore
import OptimistCore
import OptimistLoopback
import OptimistProxy
import OptimistServer
import OptimistSession
@_spi(Internals) import OptimistTesting
import OptimistWire
import Synchronization

/// A web page with two phones, a server, and a network between them that you can break.
///
/// All parts are real: the phones are clients with database files, the server is that of `optimist serve`, either alone
/// or as three processes on one database, and the networks are TCP proxies. Everything is stored in one folder and
/// continues at the next launch.
package final class Lab: Sendable {
    /// The settings of a lab.
    package struct Configuration: Sendable {
        /// The folder of all files. The lab creates it if it is missing.
        package var folder: URL
        /// The port of the page on 127.0.0.1. Zero takes a free one. Default: 8080.
        package var port: Int
        /// The server's place names. Default: a few places that the lab includes.
        package var gazetteer: URL?
        /// The PostgreSQL database that three server processes share. Default: nil, for one server with a directory.
        package var database: LabDatabase?
        /// A folder of photos to show. Default: nil, for drawn figures.
        package var photos: URL?
        /// Receives the logs of the lab, its server and its phones.
        package var logger: Logger
        /// Called when the start has taken ten seconds, with the awaited part, such as "its server". Default:
        /// does nothing.
        package var onDelay: @Sendable (String) -> Void

        /// Each property documents its default.
        package init(
            at folder: URL, port: Int = 8080, gazetteer: URL? = nil, database: LabDatabase? = nil, photos: URL? = nil,
            logger: Logger, onDelay: @escaping @Sendable (String) -> Void = { _ in }
        ) {
            self.folder = folder
            self.port = port
            self.gazetteer = gazetteer
            self.database = database
            self.photos = photos
            self.logger = logger
            self.onDelay = onDelay
        }
    }

    private let configuration: Configuration
    private let start = Mutex<Reminder?>(nil)

    /// Creates a lab. ``run(onStart:)`` starts it.
    package init(_ configuration: Configuration) { self.configuration = configuration }

    /// Runs the lab until the task is cancelled or the process receives SIGTERM or SIGINT.
    ///
    /// - Parameter onStart: Receives the port of the page. Phones may still be opening then, and requests about them
    ///   wait.
    /// - Throws: `OptimistError` with a message that says what to do, for example if the port is taken.
    package func run(onStart tell: @escaping @Sendable (Int) -> Void) async throws {
        let reminder = Reminder(configuration.onDelay)
        start.withLock { $0 = reminder }
        defer { reminder.end() }
        let onStart: @Sendable (Int) -> Void = { port in
            reminder.end()
            tell(port)
        }
        try FileManager.default.createDirectory(at: configuration.folder, withIntermediateDirectories: true)
        guard let database = configuration.database else { return try await run(on: nil, onStart) }
        try await endingOnSignal { ready in
            self.waits(for: "its database")
            let opened = try await OpenedDatabase.open(database, in: self.configuration.folder)
            let outcome: Result<Void, any Error>
            do {
                try await self.run(on: opened) { port in
                    ready()
                    onStart(port)
                }
                outcome = .success(())
            } catch { outcome = .failure(error) }
            await opened.pair?.close()
            try outcome.get()
        }
    }

    private func run(on database: OpenedDatabase?, _ onStart: @escaping @Sendable (Int) -> Void) async throws {
        let content = try LabContent(
            photos: configuration.photos, cache: configuration.folder.appending(path: "thumbnails"))
        waits(for: "its server")
        let providers = try SimulatedProviders(at: configuration.folder.appending(path: "identities"))
        let gazetteer = try configuration.gazetteer ?? LabPlaces.gazetteer(in: configuration.folder)
        let server = try await OptimistServer(
            configuration: ServerConfiguration(
                port: 0, storage: database?.storage ?? .directory(configuration.folder.appending(path: "server")),
                schema: .planner, identityProviders: providers.configuration, gazetteer: gazetteer,
                routes: content.routes, health: HealthSettings(app: SimulatedPeople.app, burstPerAddress: 100_000),
                logger: configuration.logger))
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { try await server.run() }
            let processes = try await database?.processes(
                content: server.port, gazetteer: gazetteer, providers: providers, logger: configuration.logger)
            let outcome: Result<Void, any Error>
            do {
                for process in processes ?? [] {
                    waits(for: "its server processes")
                    try await process.start()
                }
                outcome = .success(try await serve(server, processes, database?.pair, content, providers, onStart))
            } catch {
                outcome = .failure(error)
            }
            for process in processes ?? [] { await process.stop() }
            await server.shutdown()
            try await group.waitForAll()
            try outcome.get()
        }
    }

    /// Runs the phones and the page. The servers are the processes, or the lab's main server if there are no processes.
    private func serve(
        _ server: OptimistServer, _ processes: [ServerProcess]?, _ pair: DatabasePair?, _ content: LabContent,
        _ providers: SimulatedProviders, _ onStart: @escaping @Sendable (Int) -> Void
    ) async throws {
        var ports: [Int] = []
        for process in processes ?? [] { ports.append(await process.port) }
        if ports.isEmpty { ports = [try await server.port] }
        let park = try DevicePark(
            folder: configuration.folder, server: server, serverPorts: ports, healthApp: SimulatedPeople.app,
            logger: configuration.logger)
        let stories = StoryDesk(logger: configuration.logger)
        let sharing = SharingScene(
            folder: configuration.folder.appending(path: "sharing"), logger: configuration.logger)
        let shared = processes.map { SharedServers($0, pair: pair, park: park, own: server) }
        waits(for: "its page")
        await park.announce()
        let outcome: Result<Void, any Error>
        do {
            outcome = .success(
                try await withThrowingTaskGroup(of: Bool.self) { group in
                    group.addTask {
                        try await park.startAll()
                        return false
                    }
                    group.addTask {
                        try await self.servePage(park, server, shared, content, providers, stories, sharing, onStart)
                        return true
                    }
                    // If the phones cannot be opened, the page ends as well.
                    while let isPageOver = try await group.next(), !isPageOver {}
                    group.cancelAll()
                })
        } catch {
            outcome = .failure(error)
        }
        // However the page ended, the server must finish its answers.
        content.held.end()
        await stories.end()
        await sharing.end()
        await park.stopAll()
        try outcome.get()
    }

    private func servePage(
        _ park: DevicePark, _ server: OptimistServer, _ shared: SharedServers?, _ content: LabContent,
        _ providers: SimulatedProviders, _ stories: StoryDesk, _ sharing: SharingScene,
        _ onStart: @escaping @Sendable (Int) -> Void
    ) async throws {
        let router = Router(context: LocalRequestContext.self)
        router.add(middleware: LabErrors())
        router.add(middleware: OwnOrigin())
        router.add(
            middleware: FileMiddleware(try Self.webFolder, searchForIndexHtml: true, logger: configuration.logger))
        DeviceRoutes(park: park).add(to: router)
        SessionRoutes(park: park, server: server, providers: providers).add(to: router)
        TodoRoutes(park: park).add(to: router)
        HomeRoutes(park: park, content: content).add(to: router)
        PosesRoutes(park: park, content: content).add(to: router)
        ShortsRoutes(park: park).add(to: router)
        LoadingRoutes(park: park, content: content).add(to: router)
        StoryRoutes(desk: stories).add(to: router)
        SharingRoutes(scene: sharing).add(to: router)
        ServerRoutes(park: park, server: server).add(to: router)
        SharedServersRoutes(servers: shared, park: park).add(to: router)
        PeopleRoutes(people: try await people(server), server: server).add(to: router)
        let application = Application(
            router: router,
            configuration: .init(address: .hostname("127.0.0.1", port: configuration.port), serverName: "Optimist lab"),
            onServerRunning: { channel in onStart(channel.localAddress?.port ?? 0) }, logger: configuration.logger)
        do {
            try await application.runService()
        } catch let error as IOError where error.errnoCode == EADDRINUSE {
            throw OptimistError(
                .badLabRequest,
                "Another program uses port \(configuration.port). Choose another port with --port.",
                cause: error)
        }
    }

    private func waits(for what: String) { start.withLock { $0 }?.waits(for: what) }

    private func people(_ server: OptimistServer) async throws -> SimulatedPeople {
        guard let address = URL(string: "http://127.0.0.1:\(try await server.port)") else {
            throw OptimistError(.badLabData, "The lab's server does not have a valid address.")
        }
        return SimulatedPeople(folder: configuration.folder.appending(path: "people"), server: address)
    }

    private static var webFolder: String {
        get throws {
            guard let folder = Bundle.module.resourceURL?.appending(path: "Web"),
                FileManager.default.fileExists(atPath: folder.appending(path: "index.html").path)
            else { throw OptimistError(.badLabData, "The lab's page is missing next to the program. Build it again.") }
            return folder.path
        }
    }
}
