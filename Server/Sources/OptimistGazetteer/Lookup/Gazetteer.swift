// This source file is part of the Optimist open source project, under the MIT licence.

package import Foundation
import GRDB
import OptimistCore

/// Names the place at a coordinate, from a file made by ``GazetteerImport``.
///
/// ```swift
/// let gazetteer = try Gazetteer(at: URL(filePath: "gazetteer.sqlite"))
/// let name = try gazetteer.place(at: tokyoStation, languages: ["ja", "en"])   // 東京, 東京都, JP
/// ```
///
/// The answer is the nearest populated place, however small, so a city does not absorb the villages around it. A
/// section of a place, such as a city district, counts as that place. A city is therefore as wide as its districts.
///
/// It can be used from any thread, and answers one query at a time. The file stays open. If another file replaces it,
/// only gazetteers that are opened later read the new file.
package final class Gazetteer: Sendable {
    package let source: GazetteerSource
    private let queue: DatabaseQueue

    /// The default maximum distance of a place.
    package static let standardReachMeters = 50_000.0

    /// Opens a file for reading.
    ///
    /// - Throws: `OptimistError` with code `notAGazetteer` if it is missing, is not a gazetteer, or has another
    ///   version's format.
    package init(at file: URL) throws {
        queue = try GazetteerFormat.open(file)
        source = try queue.read(GazetteerSource.init)
    }

    /// Returns the name of the nearest populated place. Blocks its thread while it reads.
    ///
    /// - Parameters:
    ///   - coordinate: Where to look.
    ///   - languages: Tags such as `ja` or `en-GB`, in order of preference. The place and the area each use the first
    ///     language that the data has a name in, or else their local name. Malformed tags are ignored.
    ///   - reachMeters: The maximum distance of the place, in metres. A negative number is a programmer error and
    ///     traps.
    /// - Returns: Nil if no place is that near.
    /// - Throws: `DatabaseError` if the file cannot be read.
    package func place(
        at coordinate: Coordinate, languages: [String], within reachMeters: Double = standardReachMeters
    ) throws -> NamedPlace? {
        try queue.read { try Self.place(at: coordinate, languages, reachMeters, $0) }
    }

    /// Returns the same without blocking the thread.
    ///
    /// - Throws: `DatabaseError` if the file cannot be read; `CancellationError`.
    package func place(
        at coordinate: Coordinate, languages: [String], within reachMeters: Double = standardReachMeters
    ) async throws -> NamedPlace? {
        try await queue.read { try Self.place(at: coordinate, languages, reachMeters, $0) }
    }

    private static func place(
        at coordinate: Coordinate, _ languages: [String], _ reachMeters: Double, _ db: Database
    ) throws -> NamedPlace? {
        precondition(reachMeters >= 0, "the distance must not be negative")
        guard let found = try PlaceSearch(db: db).nearest(to: coordinate, within: reachMeters),
            let place = try Row.fetchOne(db.cachedStatement(sql: selectPlace), arguments: [found.id])
        else { return nil }
        let codes = languages.compactMap { LanguageCode($0) }
        let area: NamedPlace.Name? =
            if let name: String = place["area_name"] {
                try Self.name(of: place["area_id"], else: name, in: codes, db)
            } else { nil }
        return NamedPlace(
            place: try name(of: place["id"], else: place["name"], in: codes, db), area: area, country: place["country"],
            distanceMeters: found.distanceMeters)
    }

    private static func name(
        of id: Int64, else local: String, in languages: [LanguageCode], _ db: Database
    ) throws -> NamedPlace.Name {
        let statement = try db.cachedStatement(sql: selectName)
        for language in languages {
            if let name = try String.fetchOne(statement, arguments: [id, language.text]) {
                return NamedPlace.Name(text: name, language: language.text)
            }
        }
        return NamedPlace.Name(text: local, language: nil)
    }

    /// Selects the place itself, or the place that a section belongs to.
    private static let selectPlace = """
        SELECT place.id, place.name, place.country, area.id AS area_id, area.name AS area_name
        FROM place AS nearest JOIN place ON place.id = coalesce(nearest.belongs_to, nearest.id)
        LEFT JOIN area ON area.country = place.country AND area.admin1 = place.admin1
        WHERE nearest.id = ?
        """

    private static let selectName = "SELECT text FROM name WHERE id = ? AND language = ?"
}
