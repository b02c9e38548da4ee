// This source file is part of the Optimist open source project, under the MIT licence.

/// The names of a place.
public struct PlaceName: Hashable, Sendable, Codable {
    /// The city, town or village.
    public var place: String
    /// The administrative area of the place. Nil if unknown.
    public var area: String?
    /// The country's ISO 3166-1 code, such as `JP`. Nil if unknown.
    public var country: String?
    /// The attribution that the app must show with the names. Nil if the source does not require one.
    ///
    /// > Source: Creative Commons BY 4.0, section 3(a), the licence of GeoNames.
    public var attribution: String?

    /// Creates a name. By default, the area, country and attribution are nil.
    public init(place: String, area: String? = nil, country: String? = nil, attribution: String? = nil) {
        self.place = place
        self.area = area
        self.country = country
        self.attribution = attribution
    }
}
