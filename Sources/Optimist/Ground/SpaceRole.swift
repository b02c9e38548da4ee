// This source file is part of the Optimist open source project, under the MIT licence.

public import GRDB

/// The rights of a member of a space.
///
/// An open set: a role that this version does not know may only read.
public struct SpaceRole: RawRepresentable, Sendable, Hashable, Codable, DatabaseValueConvertible {
    public let rawValue: String

    public init(rawValue: String) { self.rawValue = rawValue }

    /// Reads and writes rows, invites people, and changes their roles.
    public static let owner = Self(rawValue: "owner")
    /// Reads and writes rows.
    public static let writer = Self(rawValue: "writer")
    /// Reads rows.
    public static let reader = Self(rawValue: "reader")

    /// Whether the role may write rows of the app.
    public var mayWrite: Bool { self == .owner || self == .writer }
}
