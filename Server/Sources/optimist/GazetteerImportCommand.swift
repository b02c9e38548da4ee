// This source file is part of the Optimist open source project, under the MIT licence.

import ArgumentParser
import Foundation
import OptimistGazetteer

/// `optimist gazetteer import`: one SQLite file from GeoNames' text files.
struct GazetteerImportCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "import", abstract: "Make a gazetteer of GeoNames' files.",
        discussion: """
            Download the files from https://download.geonames.org/export/dump/ and unpack them: cities500.zip (or \
            cities1000.zip, cities5000.zip, cities15000.zip), admin1CodesASCII.txt, and alternateNamesV2.zip for names \
            in other languages. A gazetteer that is there already is replaced once the new one is whole.
            """)

    @Option(help: ArgumentHelp("cities500.txt, or one of its like.", valueName: "file"))
    var cities: String

    @Option(help: ArgumentHelp("admin1CodesASCII.txt. Without it areas have no names.", valueName: "file"))
    var admin: String?

    @Option(help: ArgumentHelp("alternateNamesV2.txt. Without it all names are local ones.", valueName: "file"))
    var names: String?

    @Option(name: .customLong("to"), help: ArgumentHelp("The gazetteer to make.", valueName: "file"))
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
            "Data of \(source.date.isEmpty ? "an unknown day" : source.date). Show who sees the names: \(source.attribution)",
        ]
        for file in unreadable where file.count > 0 {
            lines.append("\(file.file): \(file.count) lines could not be read and were passed over.")
            lines += file.first.map { "  line \($0.line): \($0.reason)" }
            if file.count > file.first.count { lines.append("  … and \(file.count - file.first.count) more") }
        }
        return lines.joined(separator: "\n")
    }
}
