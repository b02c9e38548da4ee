// This source file is part of the Optimist open source project, under the MIT licence.

import ArgumentParser
import Foundation
import Logging
import OptimistCore
import OptimistLab
import OptimistPostgres

/// `optimist lab`: two phones, a server and a network that you can break, in a web page.
struct LabCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "lab", abstract: "Run two phones and a server in a web page.",
        discussion: """
            Everything is kept in one directory and is there again at the next start, also after a crash. Each phone \
            reaches the server over a network of its own, which the page can slow down or cut.
            """)

    @Option(help: "The port of the page. 0: any free one.")
    var port = 8080

    @Option(help: ArgumentHelp("Where everything is kept.", valueName: "directory"))
    var data: String?

    @Option(help: ArgumentHelp("Names of places, from `optimist gazetteer import`.", valueName: "file"))
    var gazetteer: String?

    @Option(
        help: ArgumentHelp(
            "A PostgreSQL that three server processes share: postgres://…, or \"own\".",
            discussion: """
                With "own" the lab makes a primary and a standby in its folder, which the page can let fail over. It needs \
                the programs of PostgreSQL on this machine.
                """, valueName: "url"), transform: LabDatabase.parse)
    var database: LabDatabase?

    @Option(
        help: ArgumentHelp("A folder of photos for the feed. Without it the lab draws figures.", valueName: "directory")
    )
    var photos: String?

    @Option(help: "How much to log: trace, debug, info, notice, warning or error.", transform: LogLevel.parse)
    var logLevel = Logger.Level.warning

    func validate() throws {
        guard (0...65_535).contains(port) else { throw ValidationError("--port is a number from 0 to 65535.") }
    }

    func run() async throws {
        let folder =
            data.map { URL(filePath: $0, directoryHint: .isDirectory) } ?? DataDirectory.standard.appending(path: "lab")
        var logger = Logger(label: "optimist.lab", factory: { StreamLogHandler.standardError(label: $0) })
        logger.logLevel = logLevel
        let lab = Lab(
            Lab.Configuration(
                at: folder, port: port, gazetteer: gazetteer.map { URL(filePath: $0) }, database: database,
                photos: photos.map { URL(filePath: $0, directoryHint: .isDirectory) }, logger: logger,
                onDelay: { say("The lab is not there yet. It waits for \($0).") }))
        try await explainingErrors(of: "lab", at: folder.path) {
            try await lab.run { port in
                say("The lab is at http://127.0.0.1:\(port). Its data is in \(folder.path). Stop it with Ctrl-C.")
            }
        }
    }
}

extension LabDatabase {
    /// Reads the option.
    static func parse(_ text: String) throws -> LabDatabase {
        if text == "own" { return .own }
        guard text.hasPrefix("postgres://") || text.hasPrefix("postgresql://") else {
            throw ValidationError("--database is \"own\", or a URL such as postgres://optimist@localhost/optimist.")
        }
        return .shared(PostgresDatabase(url: text, maxConnections: 8))
    }
}
