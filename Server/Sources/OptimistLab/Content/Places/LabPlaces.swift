// This source file is part of the Optimist open source project, under the MIT licence.

import Foundation
import OptimistCore
import OptimistGazetteer

/// A few places for a lab without a gazetteer: an excerpt of GeoNames' files.
enum LabPlaces {
    /// Creates the gazetteer. It takes a few milliseconds, so the lab does it at each start.
    static func gazetteer(in folder: URL) throws -> URL {
        guard let source = Bundle.module.resourceURL?.appending(path: "GeoNames") else {
            throw OptimistError(.badLabData, "The lab's place names are missing next to the program. Build it again.")
        }
        let file = folder.appending(path: "places.sqlite")
        _ = try GazetteerImport(
            cities: source.appending(path: "cities.txt"), areas: source.appending(path: "admin1CodesASCII.txt"),
            names: source.appending(path: "alternateNamesV2.txt")
        ).run(to: file)
        return file
    }
}
