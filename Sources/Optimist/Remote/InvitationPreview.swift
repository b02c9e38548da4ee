// This source file is part of the Optimist open source project, under the MIT licence.

@_spi(Internals) package import OptimistWire

/// The contents of an invitation, for a person who has its link and is not a member yet.
///
/// The server does not verify the names. Show them as the inviter's words.
public struct InvitationPreview: Sendable, Hashable {
    /// The name of the space in the invitation, such as the name of the list.
    public var label: String
    /// The role of the people who join.
    public var role: SpaceRole
    /// The name of the member who invites. Nil if that person is no longer a member, or does not have a name.
    public var inviter: String?
    /// The number of days until the link ends, rounded up.
    public var daysLeft: Int

    /// Creates a preview, for use in your own ``Remote``.
    public init(label: String, role: SpaceRole, inviter: String?, daysLeft: Int) {
        self.label = label
        self.role = role
        self.inviter = inviter
        self.daysLeft = daysLeft
    }

    /// Nil if a member is missing.
    package init?(json: JSON?) {
        guard let label = json?["label"]?.string, let role = json?["role"]?.string, let days = json?["daysLeft"]?.int
        else { return nil }
        self.init(
            label: label, role: SpaceRole(rawValue: role), inviter: json?["inviter"]?.string, daysLeft: Int(days))
    }
}

/// The server's answer about a link, before the person joins.
public enum InvitationCheck: Sendable, Hashable {
    /// The link works.
    case open(InvitationPreview)
    /// The server does not admit anyone by this link. It is wrong, used up, ended or revoked, or the device that made
    /// it has not synced yet.
    case notValid
    /// There is no answer: the device is offline, or the server cannot answer now.
    case unknown

    /// The invitation's label, which is a first name for the space. Nil if it is not known.
    public var label: String? {
        guard case .open(let preview) = self, !preview.label.isEmpty else { return nil }
        return preview.label
    }
}
