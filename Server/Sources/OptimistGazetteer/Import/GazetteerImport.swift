// This source file is part of the Optimist open source project, under the MIT licence.

package import Foundation
import GRDB

/// Makes a gazetteer file from the unpacked files that GeoNames publishes.
///
/// They are at <https://download.geonames.org/export/dump/>, under CC BY 4.0: an app that shows the names must also
/// show their source, see ``GazetteerSource/attribution``.
///
/// The files are streamed. Memory holds the ids of the places, and at most 64 MB of the file being written.
package struct GazetteerImport: Sendable {
    /// `cities500.txt`, or a similar file with fewer places.
    package var cities: URL
    /// `admin1CodesASCII.txt`. Nil: no areas.
    package var areas: URL?
    /// `alternateNamesV2.txt`. Nil: local names only.
    package var names: URL?

    package init(cities: URL, areas: URL? = nil, names: URL? = nil) {
        self.cities = cities
        self.areas = areas
        self.names = names
    }

    /// Reads the files, and writes or replaces a gazetteer.
    ///
    /// Blocks its thread for seconds, or about a minute with all names. On failure or cancellation, or if the process
    /// ends, an existing file stays unchanged.
    ///
    /// - Returns: The number of places, and the lines that could not be read.
    /// - Throws: `OptimistError` with code `unreadableGeoNames` if a file cannot be read or is not the expected one;
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
