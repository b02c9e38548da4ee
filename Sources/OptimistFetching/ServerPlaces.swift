// This source file is part of the Optimist open source project, under the MIT licence.

import Foundation
public import OptimistCore
public import OptimistLoading

extension Loader where Key == PlaceKey, Value == Place {
    /// Place names by the server's gazetteer. An app that shows a name shows its ``PlaceName/attribution`` too.
    ///
    /// - Parameters:
    ///   - source: Asks the server.
    ///   - disk: Where names are kept between launches. Default: nowhere.
    ///   - dependencies: Time and tasks.
    public convenience init(
        placesFrom source: HTTPSource, disk: DiskTier<PlaceKey, Place>? = nil,
        dependencies: Dependencies = Dependencies()
    ) {
        self.init(disk: disk, failureTTL: HTTPStatusError.pauseIfMissing, dependencies: dependencies) { fetch in
            let answer = try await source.fetch(fetch, from: fetch.key.target) { bytes in
                // No content: nothing is near.
                if bytes.isEmpty { return Place.nowhere }
                return .named(try JSONDecoder().decode(PlaceName.self, from: Data(bytes)))
            }
            return answer.keptAsValue
        }
    }
}

extension PlaceKey {
    /// The path and query by which Optimist's server is asked for the names of a place.
    public var target: String {
        var components = URLComponents()
        components.path = "/places"
        components.queryItems = [
            URLQueryItem(name: "lat", value: "\(latitude)"), URLQueryItem(name: "lon", value: "\(longitude)"),
            URLQueryItem(name: "lang", value: language),
        ]
        return components.string ?? components.path
    }
}
