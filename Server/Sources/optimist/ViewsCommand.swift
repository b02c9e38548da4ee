// This source file is part of the Optimist open source project, under the MIT licence.

import ArgumentParser
import Foundation
import Logging
import OptimistPostgres
import OptimistServer

/// Makes the rows readable for reports in SQL.
struct ViewsCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "views", abstract: "Make views of all rows, for reports in SQL.",
        discussion: """
            In a PostgreSQL database, makes a schema with a read-only view for each type. Run it again after servers \
            have started with a new version of the app's schema. From a data directory, writes the rows of one moment \
            into a SQLite file with the same columns; run it again for newer rows. In both cases the server may keep \
            running, and deleted rows are left out.
            """)
    @Option(
        help: ArgumentHelp(
            "The SQLite file to write, for a data directory. An existing file is replaced only if it is such a report.",
            valueName: "file"))
    var to: String?
    @Option(
        help: ArgumentHelp(
            "The schema of the PostgreSQL database for the views.", discussion: "Default: optimist_views.",
            valueName: "schema"))
    var into: String?
    @Option(
        help: ArgumentHelp("The PostgreSQL role that may read the views, and nothing else here.", valueName: "role"))
    var reader: String?
    @OptionGroup var options: PlaceOptions
    @OptionGroup var shared: DatabaseOptions

    func run() async throws {
        switch try options.place {
        case .database(let url):
            guard to == nil else { throw ValidationError("--to is for a data directory.") }
            let into = into ?? "optimist_views"
            let database = shared.database(url)
            try await explainingErrors(of: "views", at: database.place) {
                let opening = PostgresOpening(database: database, logger: Logger(label: "optimist.views"))
                for view in try await opening.makeViews(in: into, for: reader, shared.readSecret()) {
                    say("\(into).\(view)")
                }
                guard reader == nil else { return }
                say("-- To let a role read the views, name it with --reader, or run:")
                say(ReportView.grants(of: into, to: "ROLE"))
            }
        case .directory(let directory):
            guard into == nil else {
                throw ValidationError("--into is for a PostgreSQL database. Name the SQLite file with --to.")
            }
            guard let to else { throw ValidationError("Name the SQLite file to write with --to.") }
            guard reader == nil else { throw ValidationError("--reader is for a PostgreSQL database.") }
            try await explainingErrors(of: "views", at: directory.path) {
                let counts = try ReportFile.write(directory, to: URL(filePath: to))
                for (type, count) in counts.sorted(by: { $0.key < $1.key }) { say("\(type): \(count) rows") }
            }
        }
    }
}
