// This source file is part of the Optimist open source project, under the MIT licence.

import ArgumentParser
import Foundation
import Logging
import OptimistPostgres
import OptimistServer
import OptimistWire

/// Shows how often an app crashes, by version, from its devices' reports.
struct HealthCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "health", abstract: "Show how often an app crashes, by version, and where.",
        discussion: """
            Reads the reports that a server with --health has stored in its directory or database, whether or not the \
            server runs. It changes nothing without --remove.
            """)

    @Option(help: ArgumentHelp("The app. Default: the first app with reports.", valueName: "name"))
    var app: String?

    @OptionGroup var options: PlaceOptions

    @OptionGroup var shared: DatabaseOptions

    @Option(
        help: ArgumentHelp(
            "A folder with the app's executables or dSYMs, to show function names. Needs llvm-symbolizer.",
            valueName: "folder"))
    var symbols: String?

    @Option(
        help: ArgumentHelp(
            "Remove a forged signature with its counts, by the id in the list. Needs --app.", valueName: "id"))
    var remove: String?

    @Flag(help: "Print JSON.")
    var json = false

    func validate() throws {
        if remove != nil, app == nil { throw ValidationError("Name the app of the signature with --app.") }
    }

    func run() async throws {
        if let remove, let app {
            let orders = OperatorOrders(place: try options.place, shared: shared, command: "health")
            return try await orders.carryOut(.removeSignature(app: app, id: remove)) { _ in
                say("Removed the signature \(remove.shown()).")
            }
        }
        switch try options.place {
        case .database(let url):
            let database = shared.database(url)
            try await explainingErrors(of: "health", at: database.place) {
                let opening = PostgresOpening(database: database, logger: Logger(label: "optimist.health"))
                try await show(try await opening.healthSums(of: app))
            }
        case .directory(let directory):
            try await explainingErrors(of: "health", at: directory.path) {
                try await show(try await SQLiteHealthStore.reading(directory).sums(of: app))
            }
        }
    }

    private func show(_ sums: HealthSums) async throws {
        var summary = HealthSummary(sums)
        if let symbols {
            let symbolizer = try Symbolizer(folder: URL(filePath: symbols, directoryHint: .isDirectory))
            for index in summary.signatures.indices {
                let frames = summary.signatures[index].signature.frames
                summary.signatures[index].signature.frames = try await symbolizer.named(frames)
            }
        }
        for line in json ? [summary.json.description] : summary.lines { say(line.shown()) }
    }
}
