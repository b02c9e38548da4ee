// This source file is part of the Optimist open source project, under the MIT licence.

import ArgumentParser

struct GazetteerCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "gazetteer", abstract: "Create a file of place names, and query it.",
        discussion: """
            With this file, `optimist serve --gazetteer FILE` answers GET /places. The data is from GeoNames, under \
            CC BY 4.0: credit GeoNames where you show the names.
            """,
        subcommands: [GazetteerImportCommand.self, GazetteerLookupCommand.self])
}
