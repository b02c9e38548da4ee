// This source file is part of the Optimist open source project, under the MIT licence.

#if canImport(CoreLocation)
    import CoreLocation
    public import OptimistCore
    import Foundation

    extension Loader where Key == PlaceKey, Value == Place {
        /// Place names by the system's reverse geocoder, which throttles: it is asked once in two seconds at most, and one request
        /// at a time.
        ///
        /// - Parameters:
        ///   - disk: Where names are kept between launches. Default: nowhere.
        ///   - surroundings: Time and tasks.
        public convenience init(
            geocodingBySystemWith disk: DiskTier<PlaceKey, Place>? = nil, surroundings: Surroundings = Surroundings()
        ) {
            self.init(
                limits: LoaderLimits(fetches: 1, unseenFetches: 1, interval: .seconds(2)), disk: disk,
                surroundings: surroundings
            ) { fetch in
                let location = CLLocation(latitude: fetch.key.latitude, longitude: fetch.key.longitude)
                let found = try await CLGeocoder().reverseGeocodeLocation(
                    location, preferredLocale: Locale(identifier: fetch.key.language))
                guard let first = found.first, let place = first.locality ?? first.administrativeArea else {
                    return Fetched(.nowhere)
                }
                return Fetched(
                    .named(
                        PlaceName(place: place, area: first.administrativeArea, country: first.isoCountryCode)))
            }
        }
    }
#endif
