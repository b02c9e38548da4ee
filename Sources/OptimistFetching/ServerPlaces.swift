// This source file is part of the Optimist open source project, under the MIT licence.

import Foundation
public import OptimistCore
public import OptimistLoading

extension Loader where Key == PlaceKey, Value == Place {
    /// Place names by the server's gazetteer.
    ///
    /// - Parameters:
    ///   - source: Asks the server.
    ///   - disk: Where names are kept between launches. Default: nowhere.
    ///   - surroundings: Time and tasks.
    public convenience init(
        placesFrom source: HTTPSource, disk: DiskTier<PlaceKey, Place>? = nil,
        surroundings: Surroundings = Surroundings()
    ) {
        self.init(disk: disk, pause: HTTPStatusError.pauseIfMissing, surroundings: surroundings) { fetch in
            let key = fetch.key
            let target = "/places?lat=\(key.latitude)&lon=\(key.longitude)&lang=\(key.language)"
            let answer = try await source.fetch(fetch, from: target) { bytes in
                // No content: nothing is near.
                if bytes.isEmpty { return Place.nowhere }
                return .named(try JSONDecoder().decode(PlaceName.self, from: Data(bytes)))
            }
            return answer.keptAsValue
        }
    }
}
