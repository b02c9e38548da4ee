// This source file is part of the Optimist open source project, under the MIT licence.

public import Foundation
public import GRDB
import OptimistWire

/// A space that the person uses: rows that several people share. Read from the view `optimist_spaces`.
///
/// ```swift
/// @LiveQuery(Space.all().order(Column("name"))) var spaces: [Space]
/// ```
public struct Space: Codable, Sendable, Hashable, Identifiable, FetchableRecord, TableRecord {
    public static let databaseTableName = "optimist_spaces"

    public let id: UUID
    /// The person's own name for the space. Other members do not see it.
    public let name: String?
    /// The person's role. Nil until the device has received it.
    public let role: SpaceRole?
    /// The id of the person's own ``SpaceMember``. Nil until the device has received it.
    public let member: UUID?
    /// The number of members that the device knows.
    public let memberCount: Int
    /// Whether the server has admitted this person. The person's rows in the space wait until then.
    public let isJoined: Bool

    /// Whether the person has left. The rows stay until the server has confirmed it, and the device first sends the
    /// unsent rows of the space.
    public let isLeaving: Bool
    /// The number of rows of the space that the server has not accepted yet, with member rows and invitations.
    public let pending: Int

    /// Whether this person may write rows of the app in the space, as far as the device knows.
    public var mayWrite: Bool { role?.mayWrite ?? !isJoined }

    /// The person's way into the space and out of it.
    public var phase: Phase { isLeaving ? .leaving : isJoined ? .joined : .joining }

    /// A closed set, so that an app can show one symbol for each. See ``Store/spaceEnds()`` for what follows.
    public enum Phase: String, Sendable, Hashable, CaseIterable {
        /// The server has not admitted the person yet.
        case joining
        /// The person is a member.
        case joined
        /// The person has left, and the server has not confirmed it yet.
        case leaving
    }
}

/// A member of a space. Read from the view `optimist_members`.
public struct SpaceMember: Codable, Sendable, Hashable, Identifiable, FetchableRecord, TableRecord {
    public static let databaseTableName = "optimist_members"

    public let id: UUID
    public let space: UUID
    /// The name that the member chose. It is not verified.
    public let name: String?
    public let role: SpaceRole?
    /// Whether this is the person on this device.
    public let isMe: Bool
    /// The sync state of the row: see ``SyncedRecord``.
    public let state: String?
    /// The stamp of the row, unless its column `space` has another clock.
    let stamp: Int64?
    /// The clock of the column `space`, which the person writes only to join.
    let clock: String?

    /// When the person founded the space or last joined it, by the clock of that device, which is not verified. For a
    /// member whom the server's operator made, by the server's clock. Nil until the server has admitted the person.
    public var since: Date? {
        let joined = clock.flatMap { WriteClock($0)?.stamp } ?? stamp.map(Stamp.init(rawValue:))
        return joined.map { Date(timeIntervalSince1970: Double($0.milliseconds) / 1_000) }
    }

    /// The members of a space, by name.
    public static func of(_ space: Space.ID) -> QueryInterfaceRequest<SpaceMember> {
        filter(Column("space") == space).order(Column("name"), Column("id"))
    }
}

/// An open invitation to a space. Read from the view `optimist_invitations`.
public struct SpaceInvitation: Codable, Sendable, Hashable, Identifiable, FetchableRecord, TableRecord {
    public static let databaseTableName = "optimist_invitations"

    public let id: UUID
    public let space: UUID
    /// The role that it gives.
    public let role: SpaceRole?
    /// The space's name for people who preview the link.
    public let label: String?
    public let endsAt: Date?
    /// How many people it admits.
    public let uses: Int?
    /// How many people it has admitted.
    public let used: Int
    /// The sync state of the row: see ``SyncedRecord``. The link works as soon as the invitation is `synced`.
    public let state: String?
    private let secret: Data?

    /// The link to send to people. Nil on devices that did not make the invitation.
    public var link: InvitationLink? { secret.flatMap { InvitationLink(space: space, secret: [UInt8]($0)) } }

    /// The open invitations of a space, the last to end first.
    public static func of(_ space: Space.ID) -> QueryInterfaceRequest<SpaceInvitation> {
        filter(Column("space") == space).order(Column("endsAt").desc, Column("id"))
    }
}
