// This source file is part of the Optimist open source project, under the MIT licence.

import Foundation
@_spi(Internals) public import OptimistWire

/// The contents of an invitation that a link shows before its user joins.
@_spi(Internals) public struct OpenInvitation: Hashable, Sendable {
    public var label: String
    public var role: Role
    /// The name of the member who invites. Nil: no longer a member.
    public var inviter: String?
    public var daysLeft: Int

    public var json: JSON {
        [
            "label": .string(label), "role": .string(role.rawValue), "inviter": inviter.map(JSON.string) ?? .null,
            "daysLeft": .int(Int64(daysLeft)),
        ]
    }
}

@_spi(Internals) extension JMAPService {
    /// The invitation of a link. Nil if it is wrong, used, ended or revoked, or if there is no such space: the caller
    /// cannot tell them apart.
    ///
    /// - Parameters:
    ///   - space: The id of the space.
    ///   - secret: The secret, in its wire form.
    /// - Throws: The store's error.
    public func invitation(to space: String, secret: String) async throws -> OpenInvitation? {
        guard hasSpaces, let account = SpaceAccount.id(ofSpace: space), let secret = InvitationSecret(secret) else {
            return nil
        }
        let (now, types) = (now(), settings.spaceTypes)
        let entrances = Entrances(secret, to: account, types, at: now)
        return try await store.read(accounts: [account], as: .guest, entering: entrances) { opened in
            guard let found = opened.open[account], case .joining(let invitation) = found.access else { return nil }
            let inviter = try found.members().first { $0.person == invitation.inviter }
            let row = try inviter.flatMap { try found.rows(type: types.member, ids: [$0.memberID])[$0.memberID] }
            return OpenInvitation(
                label: invitation.label ?? "", role: invitation.role, inviter: row?.row.cells["name"]?.value.string,
                daysLeft: Int((invitation.endsAt.timeIntervalSince(now) / 86_400).rounded(.up)))
        }
    }
}
