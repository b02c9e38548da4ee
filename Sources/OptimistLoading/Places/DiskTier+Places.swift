// This source file is part of the Optimist open source project, under the MIT licence.

import Foundation

extension DiskTier where Key == PlaceKey, Value == Place {
    /// Creates a tier for place names.
    public convenience init(places cache: DiskCache) {
        self.init(
            cache, name: { "place/\($0.name)" },
            decode: { try JSONDecoder().decode(Place.self, from: Data($0)) },
            encode: { Array(try JSONEncoder().encode($0)) })
    }
}
