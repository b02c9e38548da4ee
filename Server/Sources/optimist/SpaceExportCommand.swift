// This source file is part of the Optimist open source project, under the MIT licence.

import ArgumentParser
import Foundation
import Logging
import OptimistPostgres
import OptimistServer
import OptimistWire

extension SpaceCommand {
    struct Export: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Print everything the server stores about a space, as lines of JSON.",
            discussion: """
                Prints a line for the space, each member, present or former, and each row with its column clocks, and \
                last {"end": …} with the counts. The lines form a consistent snapshot, even while the server runs.
                """)
        @Argument(help: "The id of the space.")
        var space: String
        @OptionGroup var options: PlaceOptions
        @OptionGroup var shared: DatabaseOptions

        func run() async throws {
            try await printExport(of: .space(space), for: "space", at: try options.place, shared)
        }
    }
}

/// Prints an export when all its lines could be read.
func printExport(
    of subject: AccountExport.Subject, for command: String, at place: PlaceOptions.Place, _ shared: DatabaseOptions
) async throws {
    let spool = try Spool()
    let write: @Sendable (JSON) throws -> Void = { try spool.add($0.description) }
    switch place {
    case .database(let url):
        let database = shared.database(url)
        try await explainingErrors(of: command, at: database.place) {
            let opening = PostgresOpening(database: database, logger: Logger(label: "optimist.\(command)"))
            try await opening.export(subject, write)
            try spool.say()
        }
    case .directory(let directory):
        try await explainingErrors(of: command, at: directory.path) {
            try AccountExport.read(subject, in: directory, write)
            try spool.say()
        }
    }
}
