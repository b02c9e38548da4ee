// This source file is part of the Optimist open source project, under the MIT licence.

import ArgumentParser
import Foundation
import OptimistGazetteer

/// `optimist gazetteer lookup`: what `GET /places` would answer.
struct GazetteerLookupCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "lookup", abstract: "Name the populated place that is nearest to a point.",
        discussion: """
            For example: optimist gazetteer lookup --in gazetteer.sqlite 35.68 139.76 --lang ja. Before a negative number \
            write two dashes, after all options: -- -33.87 151.21. No gazetteer yet? `optimist gazetteer import --help` \
            says where the data is.
            """)

    @Option(name: .customLong("in"), help: ArgumentHelp("A file of `optimist gazetteer import`.", valueName: "file"))
    var file: String

    @Argument(help: "Degrees, from -90 at the South Pole to 90.")
    var latitude: Double

    @Argument(help: "Degrees, from -180 to 180; negative to the west of Greenwich.")
    var longitude: Double

    @Option(help: ArgumentHelp("The languages to name it in, such as ja,en. The best one first.", valueName: "tags"))
    var lang = ""

    func validate() throws {
        if Coordinate(latitude: latitude, longitude: longitude) == nil {
            throw ValidationError("\(latitude) \(longitude) is nowhere on Earth: it takes -90 to 90 and -180 to 180.")
        }
    }

    func run() async throws {
        guard let coordinate = Coordinate(latitude: latitude, longitude: longitude) else { return }
        try await explainingErrors(of: "gazetteer", at: file) {
            let gazetteer = try Gazetteer(file: URL(filePath: file))
            let languages = lang.split(separator: ",").map(String.init)
            let name = try await gazetteer.place(at: coordinate, languages: languages)
            say(name.map { $0.report(gazetteer.source) } ?? "No populated place is within 50 km.")
        }
    }
}

extension PlaceName {
    fileprivate func report(_ source: GazetteerSource) -> String {
        """
        place       \(place.report)
        area        \(area?.report ?? "unknown")
        country     \(country ?? "none")
        distance    \(Int(distanceMeters.rounded())) m
        data        \(source.attribution), of \(source.date)
        """
    }
}

extension PlaceName.Name {
    fileprivate var report: String { "\(text) (\(language ?? "local name"))" }
}
