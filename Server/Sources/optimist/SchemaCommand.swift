// This source file is part of the Optimist open source project, under the MIT licence.

import ArgumentParser
import Foundation
import Optimist
import OptimistCore
import OptimistWire

/// `optimist schema`: the server's schema from an app's database.
struct SchemaCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "schema", abstract: "Export the schema of an app's database, for a server.",
        discussion: """
            Prints the JSON that `optimist serve --schema` reads. Check sizes and what is required before you use it: a \
            database cannot say everything.
            """)

    @Argument(help: "The database file of an app.")
    var file: String

    @Option(help: "What to call the schema. Default: the file's name.")
    var id: String?

    @Option(help: "The schema's version. Raise it with every change.")
    var version = 1

    func run() async throws {
        try await explainingErrors(of: "schema", at: file) {
            let url = URL(filePath: file)
            let schema = try Schema(
                exporting: url, id: id ?? url.deletingPathExtension().lastPathComponent, version: version)
            say(schema.json.readableText)
        }
    }
}
