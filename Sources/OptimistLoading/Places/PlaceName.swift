// This source file is part of the Optimist open source project, under the MIT licence.

/// The names of a place.
public struct PlaceName: Hashable, Sendable, Codable {
    /// A city, a town or a village.
    public var place: String
    /// The administrative area that it is in.
    public var area: String?
    /// The country's code, as of ISO 3166-1.
    public var country: String?
    /// Whose names these are, in words that are to be shown where the names are. Nil: nobody asks for that.
    ///
    /// > Source: Creative Commons BY 4.0, section 3(a), under which GeoNames' are given.
    public var attribution: String?

    public init(place: String, area: String? = nil, country: String? = nil, attribution: String? = nil) {
        self.place = place
        self.area = area
        self.country = country
        self.attribution = attribution
    }
}
