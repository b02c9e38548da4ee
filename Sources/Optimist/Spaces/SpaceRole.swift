// This source file is part of the Optimist open source project, under the MIT licence.

/// What a member of a space may do.
///
/// An open set: a role that this version does not know may read only.
public struct SpaceRole: Sendable, Hashable, Codable, CustomStringConvertible {
    public let description: String

    public init(_ description: String) { self.description = description }

    /// Reads and writes rows, invites people, and changes their roles.
    public static let owner = Self("owner")
    /// Reads and writes rows.
    public static let writer = Self("writer")
    /// Reads rows.
    public static let reader = Self("reader")

    /// Whether the role may write rows of the app.
    public var mayWrite: Bool { self == .owner || self == .writer }
}
