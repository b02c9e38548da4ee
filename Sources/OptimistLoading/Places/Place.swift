// This source file is part of the Optimist open source project, under the MIT licence.

/// The place at a coordinate.
public enum Place: Hashable, Sendable, Codable {
    /// The nearest place that has a name.
    case named(PlaceName)
    /// No named place is near.
    case nowhere
}
