// This source file is part of the Optimist open source project, under the MIT licence.

import ArgumentParser
import Foundation
import OptimistCore
import OptimistPostgres
import OptimistServer

/// How servers share a PostgreSQL database: their secret, and their connections.
struct DatabaseOptions: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            "The file with the secret that all servers of a database share: see `optimist secret`.",
            discussion: "Default: the secret itself, in OPTIMIST_SECRET of the environment.", valueName: "file"))
    var secret: String?

    @Option(help: "How many connections to the database a server opens at most.")
    var connections = 16

    func validate() throws {
        guard (1...1000).contains(connections) else {
            throw ValidationError("--connections is a number from 1 to 1000.")
        }
    }

    func database(_ url: String) -> PostgresDatabase { PostgresDatabase(url: url, maxConnections: connections) }

    /// Reads the secret from the file, or from the environment if no file is named.
    ///
    /// - Throws: `OptimistError` with code `wrongSecret` if there is none or it is not valid. Its message says how to
    ///   give one.
    func readSecret() throws -> ServerKeys {
        if let secret { return try ServerKeys(at: URL(filePath: secret)) }
        if let text = ProcessInfo.processInfo.environment["OPTIMIST_SECRET"] { return try ServerKeys(secret: text) }
        throw OptimistError(
            .wrongSecret,
            """
            Servers that share a database need one secret. Make it once with `optimist secret > FILE`, give it to every \
            server, and name it with --secret FILE or in OPTIMIST_SECRET.
            """)
    }
}
