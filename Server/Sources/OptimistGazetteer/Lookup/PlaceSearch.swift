// This source file is part of the Optimist open source project, under the MIT licence.

import GRDB

/// Finds places by their distance from a point.
struct PlaceSearch {
    let db: Database

    /// A place, and the distance to its point.
    struct Found: Comparable {
        var distanceMeters: Double
        var id: Int64

        /// Orders by distance, then by id.
        static func < (one: Self, other: Self) -> Bool {
            (one.distanceMeters, one.id) < (other.distanceMeters, other.id)
        }
    }

    /// In most inhabited regions, a place is this near.
    private static let firstRadiusMeters = 4_000.0

    /// Returns the nearest place.
    ///
    /// A point in a corner of the box is farther away than the box's radius, so there may be a nearer point outside. In
    /// that case, the next box reaches as far as the found point, and contains all nearer points.
    func nearest(to center: Coordinate, within limitMeters: Double) throws -> Found? {
        var radius = min(Self.firstRadiusMeters, limitMeters)
        while true {
            var nearest: Found?
            try forEach(inBoxAround: center, radiusMeters: radius) { nearest = min($0, nearest ?? $0) }
            if let nearest, nearest.distanceMeters <= radius { return nearest }
            if radius >= limitMeters { return nil }
            radius = min(nearest?.distanceMeters ?? radius * 4, limitMeters)
        }
    }

    /// Returns all places within a distance, nearest first.
    func all(around center: Coordinate, within radiusMeters: Double) throws -> [Found] {
        var all: [Found] = []
        try forEach(inBoxAround: center, radiusMeters: radiusMeters) { found in
            if found.distanceMeters <= radiusMeters { all.append(found) }
        }
        return all.sorted()
    }

    private func forEach(
        inBoxAround center: Coordinate, radiusMeters: Double, _ body: (Found) throws -> Void
    ) throws {
        let statement = try db.cachedStatement(sql: Self.inBox)
        for box in SearchBox.boxes(around: center, radiusMeters: radiusMeters) {
            let rows = try Row.fetchCursor(
                statement,
                arguments: [
                    box.latitudes.lowerBound, box.latitudes.upperBound, box.longitudes.lowerBound,
                    box.longitudes.upperBound,
                ])
            while let row = try rows.next() {
                // The import only writes points on Earth.
                guard let point = Coordinate(latitude: row[1], longitude: row[2]) else { continue }
                try body(Found(distanceMeters: center.distanceMeters(to: point), id: row[0]))
            }
        }
    }

    /// The R*Tree stores rounded boxes that contain the exact coordinates. `CROSS` makes the R*Tree the outer loop.
    private static let inBox = """
        SELECT place.id, place.latitude, place.longitude FROM place_box CROSS JOIN place ON place.id = place_box.id
        WHERE north >= ? AND south <= ? AND east >= ? AND west <= ?
        """
}
