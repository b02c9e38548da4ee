// This source file is part of the Optimist open source project, under the MIT licence.

import Foundation
import Logging
import OptimistCore
package import OptimistPostgres
import OptimistServer

/// The database that a lab's servers share.
package enum LabDatabase: Sendable {
    /// An existing database, which the lab does not kill.
    case shared(PostgresDatabase)
    /// A primary and a standby in the lab's folder. They stop with the lab and continue at its next start.
    case own
}

struct OpenedDatabase: Sendable {
    let database: PostgresDatabase
    let pair: DatabasePair?
    let secretFile: URL
    let secret: ServerKeys

    var storage: ServerStorage { .postgres(database, secret: secret) }

    /// Returns the processes that serve the phones, without starting them. They run this program's command
    /// `lab-server`.
    func processes(
        content: Int, gazetteer: URL, providers: SimulatedProviders, logger: Logger
    ) -> [ServerProcess] {
        let program = Bundle.main.executablePath ?? CommandLine.arguments[0]
        let command = [
            program, "lab-server", "--secret", secretFile.path, "--connections", "\(database.maxConnections)",
            "--content", "\(content)", "--gazetteer", gazetteer.path, "--identities", providers.file.path,
            "--log-level", "\(logger.logLevel)",
        ]
        return (1...3).map {
            ServerProcess(number: $0, command: command, database: database.url, logger: logger)
        }
    }

    static func open(_ database: LabDatabase, in folder: URL) async throws -> OpenedDatabase {
        let file = folder.appending(path: "secret")
        try PrivateFile.make(file, containing: ServerKeys.make())
        let secret = try ServerKeys(at: file)
        switch database {
        case .shared(let database):
            return OpenedDatabase(database: database, pair: nil, secretFile: file, secret: secret)
        case .own:
            let pair = try await DatabasePair(in: folder.appending(path: "postgres"))
            // Four processes share the connections of a cluster.
            return OpenedDatabase(
                database: PostgresDatabase(url: pair.url, maxConnections: 8), pair: pair, secretFile: file,
                secret: secret)
        }
    }
}
