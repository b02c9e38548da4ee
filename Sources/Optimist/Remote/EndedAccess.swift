// This source file is part of the Optimist open source project, under the MIT licence.

/// Why the person may no longer use a space.
public struct EndedAccess: Sendable, Hashable {
    /// An open set: a later server may know more reasons.
    public struct Reason: Sendable, Hashable, CustomStringConvertible {
        public let description: String

        public init(_ description: String) { self.description = description }

        /// An owner removed the person.
        public static let removed = Self("removed")
        /// The person left.
        public static let left = Self("left")
        /// The server did not let the person create or join the space.
        public static let refused = Self("refused")
        /// The space was deleted.
        public static let deleted = Self("deleted")
    }

    public var reason: Reason

    public init(_ reason: Reason) { self.reason = reason }
}
