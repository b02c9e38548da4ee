// This source file is part of the Optimist open source project, under the MIT licence.

import ArgumentParser
import Foundation
import OptimistGazetteer

struct GazetteerImportCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "import", abstract: "Create a gazetteer from GeoNames' files.",
        discussion: """
            Download the files from https://download.geonames.org/export/dump/ and unpack them: cities500.zip (or \
            cities1000.zip, cities5000.zip, cities15000.zip), admin1CodesASCII.txt, and alternateNamesV2.zip for names \
            in other languages. An existing gazetteer is replaced only when the new one is complete.
            """)

    @Option(help: ArgumentHelp("cities500.txt or a similar file.", valueName: "file"))
    var cities: String

    @Option(help: ArgumentHelp("admin1CodesASCII.txt. Without it areas have no names.", valueName: "file"))
    var admin: String?

    @Option(help: ArgumentHelp("alternateNamesV2.txt. Without it all names are local names.", valueName: "file"))
    var names: String?

    @Option(name: .customLong("to"), help: ArgumentHelp("The gazetteer to create.", valueName: "file"))
    var file: String

    func run() async throws {
        try await explainingErrors(of: "gazetteer", at: file) {
            let report = try GazetteerImport(
                cities: URL(filePath: cities), areas: admin.map { URL(filePath: $0) },
                names: names.map { URL(filePath: $0) }
            ).run(to: URL(filePath: file))
            say(report.text)
        }
    }
}

extension ImportReport {
    fileprivate var text: String {
        var lines = [
            "\(places) places, of which \(sections) are sections of others; \(areas) areas; \(names) names.",
            "Data of \(source.date.isEmpty ? "an unknown date" : source.date). Credit it as: \(source.attribution)",
        ]
        for file in unreadable where file.count > 0 {
            lines.append("\(file.file): \(file.count) lines could not be read and were skipped.")
            lines += file.first.map { "  line \($0.line): \($0.reason)" }
            if file.count > file.first.count { lines.append("  … and \(file.count - file.first.count) more") }
        }
        return lines.joined(separator: "\n")
    }
}
