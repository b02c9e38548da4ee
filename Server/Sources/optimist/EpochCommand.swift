// This source file is part of the Optimist open source project, under the MIT licence.

import ArgumentParser
import Logging
import OptimistCore
import OptimistPostgres

/// `optimist epoch begin`: tells a database that it has gone back to an earlier state.
struct EpochCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "epoch", abstract: "Say that a database has gone back to an earlier state.",
        subcommands: [Begin.self])

    struct Begin: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Begin an epoch, after a restore that the servers cannot see.",
            discussion: """
                Servers see by themselves that a standby was promoted, or that a backup was restored by replaying its log or \
                into another cluster. They do not see that the disk itself was put back, and some managed services hide all \
                of it. Then run this before the servers: devices compare what they have, and send what the database lost.
                """)
        @OptionGroup var options: PlaceOptions
        @OptionGroup var shared: DatabaseOptions

        func run() async throws {
            guard case .database(let url) = try options.place else {
                throw ValidationError(
                    "Name the database with --database. A server with a directory begins one at each start.")
            }
            let database = shared.database(url)
            try await explainingErrors(of: "epoch", at: database.place) {
                let opening = PostgresOpening(database: database, logger: Logger(label: "optimist.epoch"))
                say("The epoch \(try await opening.beginEpoch()) has begun.")
            }
        }
    }
}
