// This source file is part of the Optimist open source project, under the MIT licence.

import ArgumentParser
import Logging
import OptimistCore
import OptimistPostgres

/// `optimist epoch begin`: records that a database was restored.
struct EpochCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "epoch", abstract: "Record that a database was restored to an earlier state.",
        subcommands: [Begin.self])

    struct Begin: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Begin an epoch, after a restore that the servers cannot detect.",
            discussion: """
                Servers detect that a standby was promoted. They detect a restored backup if its log was replayed, or \
                if it is in another cluster. They do not detect that the disk itself was restored, and some managed \
                services hide every restore. In these cases run this before you start the servers: devices compare \
                their data with the database, and send what it lost.
                """)
        @OptionGroup var options: PlaceOptions
        @OptionGroup var shared: DatabaseOptions

        func run() async throws {
            guard case .database(let url) = try options.place else {
                throw ValidationError(
                    "Name the database with --database. A server with a directory begins an epoch at each start.")
            }
            let database = shared.database(url)
            try await explainingErrors(of: "epoch", at: database.place) {
                let opening = PostgresOpening(database: database, logger: Logger(label: "optimist.epoch"))
                say("The epoch \(try await opening.beginEpoch()) has begun.")
            }
        }
    }
}
