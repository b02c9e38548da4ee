// This source file is part of the Optimist open source project, under the MIT licence.

import ArgumentParser
import Foundation
import OptimistCore
import OptimistPostgres
import OptimistServer

/// The options for a PostgreSQL database that servers share.
struct DatabaseOptions: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            "The file with the secret that all servers of a database share. Create it with `optimist secret`.",
            discussion: "Default: the secret in the environment variable OPTIMIST_SECRET.", valueName: "file"))
    var secret: String?

    @Option(help: "The most connections a server opens to the database.")
    var connections = 16

    func validate() throws {
        guard (1...1000).contains(connections) else {
            throw ValidationError("--connections must be a number from 1 to 1000.")
        }
    }

    func database(_ url: String) -> PostgresDatabase { PostgresDatabase(url: url, maxConnections: connections) }

    /// Reads the secret from the file, or from the environment without `--secret`.
    ///
    /// - Throws: `OptimistError` with code `wrongSecret` if the secret is missing or invalid, with a message that
    ///   explains how to provide one.
    func readSecret() throws -> ServerKeys {
        if let secret { return try ServerKeys(at: URL(filePath: secret)) }
        if let text = ProcessInfo.processInfo.environment["OPTIMIST_SECRET"] { return try ServerKeys(secret: text) }
        throw OptimistError(
            .wrongSecret,
            """
            Servers that share a database need one secret. Create it once with `(umask 077; optimist secret > FILE)`, \
            copy it to every server, and pass it with --secret FILE or in OPTIMIST_SECRET.
            """)
    }
}
