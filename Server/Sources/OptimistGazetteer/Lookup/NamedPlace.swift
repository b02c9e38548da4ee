// This source file is part of the Optimist open source project, under the MIT licence.

/// The names of a place.
package struct NamedPlace: Hashable, Sendable {
    /// A name and its language.
    package struct Name: Hashable, Sendable {
        package let text: String
        /// Two or three letters. Nil: there is no name in any requested language, and this is the local name.
        package let language: String?
    }

    /// The populated place.
    package let place: Name
    /// The place's largest administrative unit, such as a state or a prefecture. Nil if unknown.
    package let area: Name?
    /// The country's two-letter ISO 3166 code. Nil if unknown.
    package let country: String?
    /// The great-circle distance, in metres, to the nearest point: the place's own or that of one of its sections.
    package let distanceMeters: Double
}
