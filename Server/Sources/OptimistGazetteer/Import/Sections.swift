// This source file is part of the Optimist open source project, under the MIT licence.

import GRDB

/// Finds the place that each section belongs to.
///
/// GeoNames' data does not name this place for most sections. It is the place within 25 km, in the same country and the
/// same largest administrative unit, with which the section shares the most smaller units. Of several such places, it
/// is the most populous. A section without such a place stays separate.
enum Sections {
    private static let reachMeters = 25_000.0

    /// Assigns sections to places. Holds all sections in memory: a few megabytes.
    ///
    /// - Returns: The number of sections with a place.
    static func settle(in db: Database) throws -> Int {
        let sections = try Row.fetchAll(
            db,
            sql: """
                SELECT id, latitude, longitude, country, admin1, admin2, admin3, admin4 FROM place WHERE is_section
                """)
        let settle = try db.makeStatement(sql: "UPDATE place SET belongs_to = ? WHERE id = ?")
        var count = 0
        for section in sections {
            guard let place = try place(of: section, db) else { continue }
            try settle.execute(arguments: [place, section["id"] as Int64])
            count += 1
        }
        return count
    }

    private static func place(of section: Row, _ db: Database) throws -> Int64? {
        guard let center = Coordinate(latitude: section["latitude"], longitude: section["longitude"]) else {
            return nil
        }
        let select = try db.cachedStatement(
            sql: """
                SELECT admin2, admin3, admin4, population FROM place
                WHERE id = ? AND NOT is_section AND country IS ? AND admin1 = ?
                """)
        var best: (id: Int64, units: Int, population: Int64)?
        for found in try PlaceSearch(db: db).all(around: center, within: reachMeters) {
            let arguments: StatementArguments = [
                found.id, section["country"] as String?, section["admin1"] as String,
            ]
            guard let place = try Row.fetchOne(select, arguments: arguments) else { continue }
            let (units, population) = (sharedUnits(section, place), place["population"] as Int64)
            if let best, (best.units, best.population) >= (units, population) { continue }
            best = (found.id, units, population)
        }
        return best?.id
    }

    private static func sharedUnits(_ one: Row, _ other: Row) -> Int {
        ["admin2", "admin3", "admin4"].prefix { column in
            let code: String = one[column]
            return !code.isEmpty && code == other[column]
        }.count
    }
}
