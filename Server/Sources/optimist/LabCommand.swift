// This source file is part of the Optimist open source project, under the MIT licence.

import ArgumentParser
import Foundation
import Logging
import OptimistCore
import OptimistLab
import OptimistPostgres

/// `optimist lab`: a web page with two phones, a server, and networks you can break.
struct LabCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "lab", abstract: "Run two phones and a server in a web page.",
        discussion: """
            Everything is stored in one directory, and continues at the next start, even after a crash. Each phone \
            reaches the server over a simulated network that the page can slow down or cut.
            """)

    @Option(help: "The port of the page; 0 takes a free one.")
    var port = 8080

    @Option(help: ArgumentHelp("The directory for all data.", valueName: "directory"))
    var data: String?

    @Option(help: ArgumentHelp("Place names, from `optimist gazetteer import`.", valueName: "file"))
    var gazetteer: String?

    @Option(
        help: ArgumentHelp(
            "A PostgreSQL database that three server processes share: postgres://…, or \"own\".",
            discussion: """
                With "own", the lab creates a primary and a standby in its folder, and the page can fail over between \
                them. Needs the programs of PostgreSQL on this machine.
                """, valueName: "url"), transform: LabDatabase.parse)
    var database: LabDatabase?

    @Option(
        help: ArgumentHelp("A folder of photos for the feed. Without it the lab draws figures.", valueName: "directory")
    )
    var photos: String?

    @Option(help: "The log level: trace, debug, info, notice, warning or error.", transform: LogLevel.parse)
    var logLevel = Logger.Level.warning

    func validate() throws {
        guard (0...65_535).contains(port) else { throw ValidationError("--port must be a number from 0 to 65535.") }
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
                onDelay: { say("The lab is still starting. It waits for \($0).") }))
        try await explainingErrors(of: "lab", at: folder.path) {
            try await lab.run { port in
                say("The lab is at http://127.0.0.1:\(port). Its data is in \(folder.path). Stop it with Ctrl-C.")
            }
        }
    }
}

extension LabDatabase {
    static func parse(_ text: String) throws -> LabDatabase {
        if text == "own" { return .own }
        guard text.hasPrefix("postgres://") || text.hasPrefix("postgresql://") else {
            throw ValidationError("--database must be \"own\" or a URL such as postgres://optimist@localhost/optimist.")
        }
        return .shared(PostgresDatabase(url: text, maxConnections: 8))
    }
}
