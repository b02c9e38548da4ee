// This source file is part of the Optimist open source project, under the MIT licence.

public import Optimist

/// The members of a space, and the actions that the views offer to the person on this device.
///
/// The device judges by the roles that it has received. The server has the last word: a refused action becomes a
/// `Rejection`.
public struct MemberList: Sendable, Hashable {
    /// What happens if the person leaves.
    public enum Departure: Sendable, Hashable, CaseIterable {
        /// The person loses the rows. The other members keep them.
        case leaves
        /// The space is deleted, because the person is its only member.
        case endsSpace
        /// The person cannot leave, because the other members would be without an owner.
        case lastOwner
    }

    /// The members, in the order of the query.
    public let members: [SpaceMember]

    /// Takes the result of `SpaceMember.of(_:)`.
    public init(_ members: [SpaceMember]) { self.members = members }

    /// Whether this person may invite people, change roles and remove members.
    public var isOwner: Bool { me?.role == .owner }

    /// What happens if the person leaves. Nil if the device has not received that the person is a member.
    public var departure: Departure? {
        guard let me else { return nil }
        if members.count == 1 { return .endsSpace }
        return isLastOwner(me) ? .lastOwner : .leaves
    }

    /// The roles that this person may give to a member, including the present one. Empty if the role is fixed.
    public func roles(for member: SpaceMember) -> [SpaceRole] {
        isOwner && !isLastOwner(member) ? [.owner, .writer, .reader] : []
    }

    /// Whether this person may remove a member. The person's own way out is to leave.
    public func mayRemove(_ member: SpaceMember) -> Bool { isOwner && !member.isMe }

    private var me: SpaceMember? { members.first(where: \.isMe) }

    private func isLastOwner(_ member: SpaceMember) -> Bool {
        member.role == .owner && members.count { $0.role == .owner } == 1
    }
}
