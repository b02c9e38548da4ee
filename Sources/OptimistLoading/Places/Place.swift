// This source file is part of the Optimist open source project, under the MIT licence.

/// The place at a coordinate.
public enum Place: Hashable, Sendable, Codable {
    /// The nearest place with a name.
    case named(PlaceName)
    /// No named place is nearby.
    case nowhere
}
