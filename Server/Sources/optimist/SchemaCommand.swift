// This source file is part of the Optimist open source project, under the MIT licence.

import ArgumentParser
import Foundation
@_spi(Internals) import Optimist
import OptimistCore
import OptimistServer
@_spi(Internals) import OptimistWire

/// `optimist schema`: the server's schema from an app's database.
struct SchemaCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "schema", abstract: "Export the schema of an app's database, for a server.",
        discussion: """
            Prints the JSON that `optimist serve --schema` reads. Check sizes and what is required before you use it: a \
            database cannot say everything. For the app's next version, --update adds to that file what the database has \
            new, with the former names from SyncRules, and leaves what was written by hand.
            """)

    @Argument(help: "The database file of an app.")
    var file: String

    @Option(help: "What to call the schema. Default: the file's name.")
    var id: String?

    @Option(help: "The schema's version. Default: 1; with --update, one more than before if anything changed.")
    var version: Int?

    @Option(help: ArgumentHelp("Bring this schema up to date, in place.", valueName: "file"))
    var update: String?

    func validate() throws {
        if update != nil, id != nil { throw ValidationError("--update keeps the schema's id: leave --id out.") }
        if let version, version < 1 { throw ValidationError("--version is at least 1.") }
    }

    func run() async throws {
        try await explainingErrors(of: "schema", at: file) {
            let url = URL(filePath: file)
            if let update { return try bring(SchemaFile.Named(path: update, option: "--update"), upToDateWith: url) }
            let schema = try Schema(
                exporting: url, id: id ?? url.deletingPathExtension().lastPathComponent, version: version ?? 1)
            say(schema.json.readableText)
        }
    }

    private func bring(_ file: SchemaFile.Named, upToDateWith database: URL) throws {
        let before = try file.read()
        let update: SchemaUpdate
        do { update = try SchemaUpdate(of: before, exporting: database, version: version) } catch let error
            as SchemaError
        {
            throw OptimistError(.schemaConflict, "\(file.path) would be no schema any more. \(error)", cause: error)
        }
        for note in update.notes { say(note) }
        guard update.schema != before else {
            return say("\(file.path) stays as it is, version \(before.version).")
        }
        try file.write(update.schema)
        say("\(file.path) is version \(update.schema.version) now. Build the app with that as its schemaVersion.")
    }
}
