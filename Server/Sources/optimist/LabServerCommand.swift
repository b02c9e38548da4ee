// This source file is part of the Optimist open source project, under the MIT licence.

import ArgumentParser
import Foundation
import Logging
import OptimistLab
import OptimistPostgres
import OptimistServer

/// A server process of a lab with a shared database.
///
/// It prints its port, and exits when its standard input closes, so it never outlives the lab.
struct LabServerCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "lab-server", abstract: "Serve the phones of a lab. Only the lab runs this.", shouldDisplay: false)

    @OptionGroup var shared: DatabaseOptions

    @Option(help: "The port of the lab's main server.")
    var content: Int

    @Option(help: "Place names.")
    var gazetteer: String

    @Option(help: "The file with the secret of the lab's identity providers.")
    var identities: String

    @Option(help: "The port to listen on; 0 takes a free one.")
    var port = 0

    @Option(help: "The log level: trace, debug, info, notice, warning or error.", transform: LogLevel.parse)
    var logLevel = Logger.Level.warning

    func run() async throws {
        // The URL may contain a password, and every user of the machine can read a process's arguments.
        guard let url = ProcessInfo.processInfo.environment["OPTIMIST_DATABASE"] else {
            throw ValidationError("OPTIMIST_DATABASE is missing. The lab sets it.")
        }
        let database = shared.database(url)
        Thread.detachNewThread {
            while FileHandle.standardInput.availableData.count > 0 {}
            Foundation.exit(EXIT_SUCCESS)
        }
        var logger = Logger(label: "optimist.server", factory: { StreamLogHandler.standardError(label: $0) })
        logger.logLevel = logLevel
        let server = LabServer(
            database: database, secret: try shared.readSecret(), content: content, gazetteer: URL(filePath: gazetteer),
            providers: try SimulatedProviders(at: URL(filePath: identities)), port: port, logger: logger)
        try await explainingErrors(of: "lab-server", at: database.place) {
            try await server.run { port in say("\(port)") }
        }
    }
}
