// This source file is part of the Optimist open source project, under the MIT licence.

import ArgumentParser
import Foundation
import OptimistGazetteer

/// Prints the answer of `GET /places`.
struct GazetteerLookupCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "lookup", abstract: "Find the populated place nearest to a point.",
        discussion: """
            For example: optimist gazetteer lookup --in gazetteer.sqlite -33.87 151.21 --lang ja. To create a \
            gazetteer, see `optimist gazetteer import --help`.
            """)

    @Option(name: .customLong("in"), help: ArgumentHelp("A file from `optimist gazetteer import`.", valueName: "file"))
    var file: String

    /// All arguments that are not options, because a negative number looks like an option.
    @Argument(
        parsing: .allUnrecognized,
        help: ArgumentHelp(
            "Latitude, from -90 to 90, and longitude, from -180 to 180. South and west are negative.",
            valueName: "degrees"))
    var point: [String]

    @Option(help: ArgumentHelp("The languages of the names, best first, such as ja,en.", valueName: "tags"))
    var lang = ""

    func validate() throws { _ = try coordinate }

    private var coordinate: Coordinate {
        get throws {
            let degrees = point.compactMap(Double.init)
            guard degrees.count == 2, point.count == 2 else {
                throw ValidationError("\(point.joined(separator: " ")) is not a latitude and a longitude, in degrees.")
            }
            guard let coordinate = Coordinate(latitude: degrees[0], longitude: degrees[1]) else {
                throw ValidationError("\(point.joined(separator: " ")) is not a point on Earth.")
            }
            return coordinate
        }
    }

    func run() async throws {
        let coordinate = try coordinate
        try await explainingErrors(of: "gazetteer", at: file) {
            let gazetteer = try Gazetteer(at: URL(filePath: file))
            let languages = lang.split(separator: ",").map(String.init)
            let name = try await gazetteer.place(at: coordinate, languages: languages)
            say(name.map { $0.report(gazetteer.source) } ?? "No populated place is within 50 km.")
        }
    }
}

extension NamedPlace {
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

extension NamedPlace.Name {
    fileprivate var report: String { "\(text) (\(language ?? "local name"))" }
}
