// This source file is part of the Optimist open source project, under the MIT licence.

package import Foundation
import GRDB

/// Makes a gazetteer's file from the files that GeoNames publishes, unpacked.
///
/// They are at <https://download.geonames.org/export/dump/>, under CC BY 4.0: an app that shows the names must also show
/// their source, see ``GazetteerSource/attribution``.
///
/// The files are read as a stream. In memory are the ids of the places, and at most 64 MB of the file that is written.
package struct GazetteerImport: Sendable {
    /// `cities500.txt`, or one of its like with fewer places.
    package var cities: URL
    /// `admin1CodesASCII.txt`. Nil: no areas.
    package var areas: URL?
    /// `alternateNamesV2.txt`. Nil: local names only.
    package var names: URL?

    /// Makes an import. By default it has no areas and local names only.
    package init(cities: URL, areas: URL? = nil, names: URL? = nil) {
        self.cities = cities
        self.areas = areas
        self.names = names
    }

    /// Reads the files, and puts a gazetteer in the place of the one that may be there.
    ///
    /// Blocks its thread: for seconds, with all names for a minute. A former file stays as it is unless everything went
    /// well, also when the task is cancelled or the process ends.
    ///
    /// - Returns: The number of places found, and the lines that could not be read.
    /// - Throws: `OptimistError` with code `unreadableGeoNames` when a file cannot be read or is another one than expected;
    ///   `gazetteerNotWritten`; `CancellationError`.
    package func run(to file: URL) throws -> ImportReport {
        try GazetteerDraft.write(to: file) { db in
            var pass = ImportPass(db: db)
            try pass.readCities(GeoNamesFile(url: cities, kind: .cities))
            if let areas { try pass.readAreas(GeoNamesFile(url: areas, kind: .areas)) }
            if let names { try pass.readNames(GeoNamesFile(url: names, kind: .names)) }
            return try pass.finish(files: [cities, areas, names].compactMap { $0?.lastPathComponent })
        }
    }
}
