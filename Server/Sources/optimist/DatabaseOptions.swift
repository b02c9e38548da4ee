// This source file is part of the Optimist open source project, under the MIT licence.

import ArgumentParser
import Foundation
import OptimistCore
import OptimistPostgres
import OptimistServer

/// The options that name a PostgreSQL database that several servers share, and their secret.
struct DatabaseOptions: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            "A PostgreSQL database that any number of servers share, instead of a directory.",
            discussion: """
                Such as postgres://optimist@db1,db2/optimist?sslmode=verify-full. Default: OPTIMIST_DATABASE of the \
                environment. A password may come from PGPASSWORD or a password file.
                """, valueName: "url"))
    var database: String?

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
        if let url, !url.hasPrefix("postgres://"), !url.hasPrefix("postgresql://") {
            throw ValidationError("--database is a URL such as postgres://optimist@localhost/optimist.")
        }
    }

    private var url: String? { database ?? ProcessInfo.processInfo.environment["OPTIMIST_DATABASE"] }

    /// The database. Nil: neither the option nor the environment names one.
    var shared: PostgresDatabase? { url.map { PostgresDatabase(url: $0, maxConnections: connections) } }

    /// Reads the secret from the file, or from the environment if no file is named.
    ///
    /// - Throws: `OptimistError` with code `wrongSecret` if there is none or it is not valid. Its message says how to
    ///   give one.
    func readSecret() throws -> ServerKeys {
        if let secret { return try ServerKeys(file: URL(filePath: secret)) }
        if let text = ProcessInfo.processInfo.environment["OPTIMIST_SECRET"] { return try ServerKeys(secret: text) }
        throw OptimistError(
            .wrongSecret,
            """
            Servers that share a database need one secret. Make it once with `optimist secret > FILE`, give it to every \
            server, and name it with --secret FILE or in OPTIMIST_SECRET.
            """)
    }
}
