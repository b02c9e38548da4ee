// This source file is part of the Optimist open source project, under the MIT licence.

import Foundation
import OptimistGazetteer

/// A temporary folder, removed when it is released.
final class Folder {
    let url = FileManager.default.temporaryDirectory.appending(path: "gazetteer-\(UUID().uuidString)")

    init() throws { try FileManager.default.createDirectory(at: url, withIntermediateDirectories: true) }

    deinit { try? FileManager.default.removeItem(at: url) }

    /// The path of the gazetteer.
    var gazetteer: URL { url.appending(path: "gazetteer.sqlite") }

    /// The names of all files, including hidden ones.
    var files: Set<String> {
        get throws { Set(try FileManager.default.contentsOfDirectory(atPath: url.path)) }
    }

    func file(_ name: String, _ content: String) throws -> URL { try file(name, Array(content.utf8)) }

    func file(_ name: String, _ content: [UInt8]) throws -> URL {
        let file = url.appending(path: name)
        try Data(content).write(to: file)
        return file
    }

    /// Creates a gazetteer of only these places.
    func gazetteer(of places: [TestPlace]) throws -> Gazetteer {
        _ = try GazetteerImport(cities: try file("places.txt", places.text)).run(to: gazetteer)
        return try Gazetteer(at: gazetteer)
    }
}

/// A few real places in the format of GeoNames' files.
enum Fixtures {
    static let folder = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "Fixtures")
    static let cities = folder.appending(path: "cities.txt")
    static let areas = folder.appending(path: "admin1CodesASCII.txt")
    static let names = folder.appending(path: "alternateNamesV2.txt")

    static let everything = GazetteerImport(cities: cities, areas: areas, names: names)
}

/// A made-up place.
struct TestPlace {
    var id: Int64
    var coordinate: Coordinate
    var code = "PPL"
    /// The codes of its country and administrative units.
    var units = ["XX", "1", "", "", ""]
    var population = 0

    /// Its line in `cities500.txt`.
    var line: String {
        let name = ["\(id)", "Place \(id)", "", ""]
        let point = ["\(coordinate.latitude)", "\(coordinate.longitude)"]
        let feature = ["P", code, units[0], ""] + units[1...]
        return (name + point + feature + ["\(population)", "", "", "", "2026-01-31"]).joined(separator: "\t")
    }
}

extension [TestPlace] {
    var text: String { map { $0.line + "\n" }.joined() }
}

extension Coordinate {
    /// Creates a coordinate that is known to be valid.
    init(_ latitude: Double, _ longitude: Double) {
        guard let coordinate = Coordinate(latitude: latitude, longitude: longitude) else {
            preconditionFailure("\(latitude), \(longitude) is not a point on Earth")
        }
        self = coordinate
    }
}
