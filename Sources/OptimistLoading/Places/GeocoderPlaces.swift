// This source file is part of the Optimist open source project, under the MIT licence.

#if canImport(CoreLocation)
    import CoreLocation
    public import OptimistCore
    import Foundation

    extension Loader where Key == PlaceKey, Value == Place {
        /// Creates a loader that uses the system's reverse geocoder. Because the geocoder throttles, the loader sends
        /// one request at a time, at most once every two seconds.
        ///
        /// If the geocoder does not find a place, this result is kept. Other errors are thrown.
        ///
        /// - Parameters:
        ///   - disk: Keeps names between launches. Default: none.
        ///   - dependencies: The clock and tasks.
        public convenience init(
            geocodingBySystemWith disk: DiskTier<PlaceKey, Place>? = nil, dependencies: Dependencies = Dependencies()
        ) {
            self.init(
                limits: LoaderLimits(fetches: 1, unseenFetches: 1, interval: .seconds(2)), disk: disk,
                dependencies: dependencies
            ) { fetch in
                let location = CLLocation(latitude: fetch.key.latitude, longitude: fetch.key.longitude)
                do {
                    let found = try await CLGeocoder().reverseGeocodeLocation(
                        location, preferredLocale: Locale(identifier: fetch.key.language))
                    return Fetched(Place(found.first))
                } catch let error as CLError where error.code == .geocodeFoundNoResult {
                    return Fetched(.nowhere)
                }
            }
        }
    }

    extension Place {
        fileprivate init(_ placemark: CLPlacemark?) {
            guard let placemark, let place = placemark.locality ?? placemark.administrativeArea else {
                self = .nowhere
                return
            }
            self = .named(
                PlaceName(place: place, area: placemark.administrativeArea, country: placemark.isoCountryCode))
        }
    }
#endif
