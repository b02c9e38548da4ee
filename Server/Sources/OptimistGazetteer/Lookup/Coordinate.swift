// This source file is part of the Optimist open source project, under the MIT licence.

import Foundation

package struct Coordinate: Hashable, Sendable {
    /// -90 at the South Pole, 90 at the North Pole.
    package let latitude: Double
    /// -180 to 180. Both ends are the same meridian.
    package let longitude: Double

    /// Returns nil unless both are in range.
    package init?(latitude: Double, longitude: Double) {
        guard abs(latitude) <= 90, abs(longitude) <= 180 else { return nil }
        self.latitude = latitude
        self.longitude = longitude
    }

    /// Earth's mean radius. Great circles on a sphere of this size are accurate to about half a percent.
    ///
    /// > Source: Moritz, "Geodetic Reference System 1980", Journal of Geodesy 74, 2000: R₁.
    static let earthRadiusMeters = 6_371_008.8

    /// The great-circle distance to another point, in metres.
    ///
    /// > Source: Sinnott, "Virtues of the Haversine", Sky and Telescope 68, 1984.
    package func distanceMeters(to other: Coordinate) -> Double {
        let latitudes = sin((other.latitude - latitude).radians / 2)
        let longitudes = sin((other.longitude - longitude).radians / 2)
        let haversine =
            latitudes * latitudes
            + cos(latitude.radians) * cos(other.latitude.radians) * longitudes * longitudes
        return 2 * Self.earthRadiusMeters * asin(min(1, haversine.squareRoot()))
    }
}

extension Double {
    var radians: Double { self * .pi / 180 }
    var degrees: Double { self * 180 / .pi }
}
