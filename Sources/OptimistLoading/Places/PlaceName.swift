// This source file is part of the Optimist open source project, under the MIT licence.

/// The names of a place.
public struct PlaceName: Hashable, Sendable, Codable {
    /// A city, a town or a village.
    public var place: String
    /// The administrative area that the place is in. Nil if it is unknown.
    public var area: String?
    /// The country's code by ISO 3166-1, such as `JP`. Nil if it is unknown.
    public var country: String?
    /// The source of the names, in words that the app shows beside them. Nil if the source asks for none.
    ///
    /// > Source: Creative Commons BY 4.0, section 3(a), under which GeoNames' are given.
    public var attribution: String?

    /// Makes a name. By default nothing else about the place is known.
    public init(place: String, area: String? = nil, country: String? = nil, attribution: String? = nil) {
        self.place = place
        self.area = area
        self.country = country
        self.attribution = attribution
    }
}
