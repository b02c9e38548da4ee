// This source file is part of the Optimist open source project, under the MIT licence.

import Foundation
import Logging
import OptimistCore
package import OptimistPostgres
import OptimistServer

/// The PostgreSQL that the servers of a lab share.
package enum LabDatabase: Sendable {
    /// A database that is there. The lab kills servers, and leaves the database alone.
    case shared(PostgresDatabase)
    /// A primary and a standby that the lab makes in its folder, with the programs of this machine's PostgreSQL. They end
    /// with the lab and are there again at its next start.
    case own
}

/// A lab's database, opened.
struct OpenedDatabase: Sendable {
    let database: PostgresDatabase
    let pair: DatabasePair?
    /// The file of the secret that all servers have.
    let secretFile: URL
    let secret: ServerKeys

    var storage: ServerStorage { .postgres(database, secret: secret) }

    /// The processes that serve the phones, not started yet: this program, as its command `lab-server`.
    ///
    /// - Parameter content: The port of the lab's own server.
    func processes(content: Int, gazetteer: URL, logger: Logger) -> [ServerProcess] {
        let program = Bundle.main.executablePath ?? CommandLine.arguments[0]
        let command = [
            program, "lab-server", "--secret", secretFile.path, "--connections", "\(database.maxConnections)",
            "--content", "\(content)", "--gazetteer", gazetteer.path, "--log-level", "\(logger.logLevel)",
        ]
        return (1...3).map {
            ServerProcess(number: $0, command: command, database: database.url, logger: logger)
        }
    }

    static func open(_ database: LabDatabase, in folder: URL) async throws -> OpenedDatabase {
        let file = folder.appending(path: "secret")
        if !FileManager.default.fileExists(atPath: file.path) {
            guard
                FileManager.default.createFile(
                    atPath: file.path, contents: Data(ServerKeys.make().utf8), attributes: [.posixPermissions: 0o600])
            else { throw OptimistError(.badLabData, "\(file.path) cannot be written.") }
        }
        let secret = try ServerKeys(at: file)
        switch database {
        case .shared(let database):
            return OpenedDatabase(database: database, pair: nil, secretFile: file, secret: secret)
        case .own:
            let pair = try await DatabasePair(in: folder.appending(path: "postgres"))
            // Four processes share the connections that a cluster has.
            return OpenedDatabase(
                database: PostgresDatabase(url: pair.url, maxConnections: 8), pair: pair, secretFile: file,
                secret: secret)
        }
    }
}
