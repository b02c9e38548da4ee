// This source file is part of the Optimist open source project, under the MIT licence.

import Foundation

/// A range of latitudes and longitudes that does not cross the antimeridian.
struct SearchBox: Equatable {
    var latitudes: ClosedRange<Double>
    var longitudes: ClosedRange<Double>

    /// Returns boxes that contain everything within a distance of a point: one, or one on each side of the
    /// antimeridian.
    ///
    /// If the distance includes a pole, the boxes span all longitudes.
    ///
    /// > Source: Matuschek, "Finding Points Within a Distance of a Latitude/Longitude Using Bounding Coordinates",
    /// > 2010.
    static func boxes(around center: Coordinate, radiusMeters: Double) -> [SearchBox] {
        // Slightly larger, so that rounding does not exclude points at exactly this distance.
        let angle = (radiusMeters / Coordinate.earthRadiusMeters * (1 + 1e-9) + 1e-9)
        let south = center.latitude - angle.degrees
        let north = center.latitude + angle.degrees
        let latitudes = max(south, -90)...min(north, 90)
        guard south > -90, north < 90 else { return [SearchBox(latitudes: latitudes, longitudes: -180...180)] }
        let reach = asin(min(1, sin(angle) / cos(center.latitude.radians))).degrees + 1e-9
        return ranges(from: center.longitude - reach, to: center.longitude + reach)
            .map { SearchBox(latitudes: latitudes, longitudes: $0) }
    }

    private static func ranges(from west: Double, to east: Double) -> [ClosedRange<Double>] {
        if east - west >= 360 { return [-180...180] }
        if west < -180 { return [-180...east, west + 360...180] }
        if east > 180 { return [west...180, -180...east - 360] }
        return [west...east]
    }
}
