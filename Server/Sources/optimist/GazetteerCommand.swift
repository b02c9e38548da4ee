// This source file is part of the Optimist open source project, under the MIT licence.

import ArgumentParser

/// `optimist gazetteer`: names of places, from GeoNames' files.
struct GazetteerCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "gazetteer", abstract: "Make a file of place names, and look into it.",
        discussion: """
            With such a file `optimist serve --gazetteer FILE` answers GET /places. The data is GeoNames', under \
            CC BY 4.0: show who sees the names where they are from.
            """,
        subcommands: [GazetteerImportCommand.self, GazetteerLookupCommand.self])
}
