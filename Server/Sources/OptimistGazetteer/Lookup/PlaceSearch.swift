// This source file is part of the Optimist open source project, under the MIT licence.

import GRDB

/// Finds places by their distance from a point.
struct PlaceSearch {
    let db: Database

    /// A place, and how far away its point is.
    struct Found: Comparable {
        var distanceMeters: Double
        var id: Int64

        /// The nearer one comes first, and of two equally near ones the one with the smaller id.
        static func < (one: Self, other: Self) -> Bool {
            (one.distanceMeters, one.id) < (other.distanceMeters, other.id)
        }
    }

    /// Where most people are, some place is that near.
    private static let firstRadiusMeters = 4_000.0

    /// Returns the nearest place.
    ///
    /// A point in a corner of the box is farther away than its radius: there may be a nearer one outside. Then the next
    /// box reaches to the found point, and holds everything that could be nearer.
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

    /// Returns all places within a distance, the nearest one first.
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
                // A row that is not a point on Earth was never imported.
                guard let point = Coordinate(latitude: row[1], longitude: row[2]) else { continue }
                try body(Found(distanceMeters: center.distanceMeters(to: point), id: row[0]))
            }
        }
    }

    /// The R*Tree keeps rounded coordinates, in boxes that hold the exact ones. `CROSS` keeps it the outer loop.
    private static let inBox = """
        SELECT place.id, place.latitude, place.longitude FROM place_box CROSS JOIN place ON place.id = place_box.id
        WHERE north >= ? AND south <= ? AND east >= ? AND west <= ?
        """
}
