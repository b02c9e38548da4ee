// This source file is part of the Optimist open source project, under the MIT licence.

import Foundation
public import OptimistCore
public import OptimistLoading

extension Loader where Key == PlaceKey, Value == Place {
    /// Creates a loader that looks up place names in the server's gazetteer. An app that shows a name must also show
    /// its ``PlaceName/attribution``.
    ///
    /// - Parameters:
    ///   - source: Sends the requests to the server.
    ///   - disk: Keeps names between launches. Default: none.
    ///   - dependencies: The clock and tasks.
    public convenience init(
        placesFrom source: HTTPSource, disk: DiskTier<PlaceKey, Place>? = nil,
        dependencies: Dependencies = Dependencies()
    ) {
        self.init(disk: disk, failureTTL: HTTPStatusError.pauseIfMissing, dependencies: dependencies) { fetch in
            let answer = try await source.fetch(fetch, from: fetch.key.target) { bytes in
                // No content: there is no place nearby.
                if bytes.isEmpty { return Place.nowhere }
                return .named(try JSONDecoder().decode(PlaceName.self, from: Data(bytes)))
            }
            return answer.keptAsValue
        }
    }
}

extension PlaceKey {
    /// The path and query that ask Optimist's server for the name of this place.
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
