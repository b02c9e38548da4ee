// This source file is part of the Optimist open source project, under the MIT licence.

/// What is at a coordinate.
public enum Place: Hashable, Sendable, Codable {
    case named(PlaceName)
    /// Nothing that has a name is near.
    case nowhere
}
