// This source file is part of the Optimist open source project, under the MIT licence.

import AppRules
import Foundation
import Logging
import OptimistServer
import OptimistServing
import OptimistWire
import ServiceLifecycle
import UnixSignals

/// A server with the app's checks: `AppServer SCHEMA DIRECTORY [PORT]`.
///
/// `optimist schema` writes the schema from the app's database. The commands `optimist account`, `backup`, `restore`
/// and `check` work with this directory as with any server's.
@main
struct AppServer {
    static func main() async throws {
        let arguments = CommandLine.arguments
        guard (3...4).contains(arguments.count), let port = Int(arguments.count == 4 ? arguments[3] : "8090") else {
            return print("Usage: AppServer SCHEMA DIRECTORY [PORT]")
        }
        let logger = Logger(label: "app.server")
        let server = try await OptimistServer(
            configuration: configuration(
                schema: try Schema(servable: Data(contentsOf: URL(filePath: arguments[1]))),
                directory: URL(filePath: arguments[2], directoryHint: .isDirectory), port: port, logger: logger))
        // SIGTERM and SIGINT let requests end before the process does.
        try await ServiceGroup(
            configuration: .init(
                services: [.init(service: server, successTerminationBehavior: .gracefullyShutdownGroup)],
                gracefulShutdownSignals: [.sigterm, .sigint], logger: logger)
        ).run()
    }

    private static func configuration(
        schema: Schema, directory: URL, port: Int, logger: Logger
    ) -> ServerConfiguration {
        ServerConfiguration(
            port: port, storage: .directory(directory), schema: schema,
            // The same checks of rows as on the devices.
            rowValidation: appRules,
            // Checks that only the server can make, such as a quota. They may refuse or amend a row.
            hook: GroupHook { group in
                group.rows.filter { $0.key.type == "task" && $0.after?["title"] == "" }
                    .map { RowAmendment($0.key, ["title": "Untitled"]) }
            },
            // Effects of a change, such as a mail. Each transaction is delivered at least once.
            didApply: { transaction in
                logger.debug("Stored", metadata: ["account": "\(transaction.account)", "seq": "\(transaction.seq)"])
            }, logger: logger)
    }
}
