// This source file is part of the Optimist open source project, under the MIT licence.

/// The names of a place.
package struct NamedPlace: Hashable, Sendable {
    /// A name, and the language that it was asked in.
    package struct Name: Hashable, Sendable {
        /// The name.
        package let text: String
        /// Two or three letters. Nil: none of the asked languages has a name for it, and this is the local one.
        package let language: String?
    }

    /// The populated place.
    package let place: Name
    /// The largest administrative unit that it is in, such as a state or a prefecture. Nil where the data has none.
    package let area: Name?
    /// The country's ISO 3166 code of two letters. Nil where the data has none.
    package let country: String?
    /// How far away the point is that decided, along a great circle: the place's own, or that of one of its sections.
    package let distanceMeters: Double
}
