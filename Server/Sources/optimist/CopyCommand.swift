// This source file is part of the Optimist open source project, under the MIT licence.

import ArgumentParser
import Foundation
import Logging
import OptimistPostgres

struct CopyCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "copy", abstract: "Copy a server's data from its directory into a PostgreSQL database.",
        discussion: """
            Stop the server first. Each account is copied completely and compared. After an interruption, run the \
            command again to continue. The directory keeps its data. Then start the servers with --database and \
            --secret DIRECTORY/keys.json; devices continue without a new sign-in.
            """)

    @Option(help: ArgumentHelp("The data directory of a stopped server.", valueName: "directory"))
    var from: String

    @Option(help: ArgumentHelp("An empty PostgreSQL database.", valueName: "url"))
    var to: String

    func run() async throws {
        let database = PostgresDatabase(url: to)
        try await explainingErrors(of: "copy", at: database.place) {
            let opening = PostgresOpening(database: database, logger: Logger(label: "optimist.copy"))
            let copy = try EmbeddedCopy(from: URL(filePath: from, directoryHint: .isDirectory), to: opening)
            let done = try await copy.run { progress in
                guard isatty(STDERR_FILENO) != 0 else { return }
                hint("\(progress.accounts) accounts, \(progress.rows) rows ")
            }
            say("\(done.accounts) accounts are in \(database.place), each identical to its original in \(from).")
            if done.found > 0 { say("An earlier run had copied \(done.found) of them.") }
        }
    }
}
