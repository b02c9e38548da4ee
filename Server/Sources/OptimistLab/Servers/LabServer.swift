// This source file is part of the Optimist open source project, under the MIT licence.

package import Foundation
package import Logging
package import OptimistPostgres
package import OptimistServer
import OptimistSession
@_spi(Internals) import OptimistTesting
import ServiceLifecycle
import UnixSignals

/// A server process of a lab with a shared database: see ``LabDatabase``.
package struct LabServer: Sendable {
    private let database: PostgresDatabase
    private let secret: ServerKeys
    private let content: Int
    private let gazetteer: URL
    private let providers: SimulatedProviders
    private let port: Int
    private let logger: Logger

    /// - Parameters:
    ///   - database: The shared database.
    ///   - secret: The secret that all its servers share.
    ///   - content: The port of the lab's main server on 127.0.0.1, which has the pictures and the first screen.
    ///   - gazetteer: The file of place names.
    ///   - providers: The lab's identity providers.
    ///   - port: The port on 127.0.0.1. Zero takes a free one.
    ///   - logger: Receives the server's logs.
    package init(
        database: PostgresDatabase, secret: ServerKeys, content: Int, gazetteer: URL, providers: SimulatedProviders,
        port: Int, logger: Logger
    ) {
        self.database = database
        self.secret = secret
        self.content = content
        self.gazetteer = gazetteer
        self.providers = providers
        self.port = port
        self.logger = logger
    }

    /// Serves until the task is cancelled or the process receives SIGTERM or SIGINT.
    ///
    /// - Parameter onStart: Receives the port when the server listens.
    /// - Throws: `OptimistError` with a message that says what to do.
    package func run(onStart: @escaping @Sendable (Int) -> Void) async throws {
        let server = try await OptimistServer(
            configuration: ServerConfiguration(
                port: port, storage: .postgres(database, secret: secret), schema: .planner,
                identityProviders: providers.configuration, gazetteer: gazetteer,
                routes: ForwardedContent(port: content, transport: AsyncHTTPClientTransport.shared).routes,
                logger: logger))
        let group = ServiceGroup(
            configuration: .init(
                services: [.init(service: server, successTerminationBehavior: .gracefullyShutdownGroup)],
                gracefulShutdownSignals: [.sigterm, .sigint], logger: logger))
        try await withThrowingTaskGroup(of: Void.self) { tasks in
            tasks.addTask { try await group.run() }
            onStart(try await server.port)
            try await tasks.waitForAll()
        }
    }
}
