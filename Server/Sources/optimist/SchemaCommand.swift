// This source file is part of the Optimist open source project, under the MIT licence.

import ArgumentParser
import Foundation
@_spi(Internals) import Optimist
import OptimistCore
import OptimistServer
@_spi(Internals) import OptimistWire

/// Exports a server's schema from an app's database.
struct SchemaCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "schema", abstract: "Export the schema of an app's database, for a server.",
        discussion: """
            Prints the JSON that `optimist serve --schema` reads. Review sizes and required columns before you use it, \
            because a database does not declare everything. For the app's next version, --update adds the database's \
            new tables and columns to the file, with former names from SyncRules, and keeps manual edits.
            """)

    @Argument(help: "The database file of an app.")
    var file: String

    @Option(help: "The name of the schema. Default: the file's name.")
    var id: String?

    @Option(help: "The schema's version. Default: 1; with --update, one more than before if anything changed.")
    var version: Int?

    @Option(help: ArgumentHelp("Update this schema file in place.", valueName: "file"))
    var update: String?

    func validate() throws {
        if update != nil, id != nil { throw ValidationError("--update keeps the schema's id. Omit --id.") }
        if let version, version < 1 { throw ValidationError("--version must be at least 1.") }
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
            throw OptimistError(.schemaConflict, "The update would make \(file.path) invalid. \(error)", cause: error)
        }
        for note in update.notes { say(note) }
        guard update.schema != before else {
            return say("\(file.path) is up to date, at version \(before.version).")
        }
        try file.write(update.schema)
        say("\(file.path) is now version \(update.schema.version). Build the app with it as schemaVersion.")
    }
}
