// This source file is part of the Optimist open source project, under the MIT licence.

import Foundation
import Optimist

/// A link that the user opened. The app writes only after the user agrees.
struct OpenedInvitation: Sendable, Hashable, Identifiable {
    let link: InvitationLink

    init(link: InvitationLink) { self.link = link }

    /// Nil if the URL is not an invitation.
    init?(_ url: URL) {
        guard let link = InvitationLink(url) else { return nil }
        self.init(link: link)
    }

    var id: InvitationLink { link }
}

/// The question before a person joins a space.
struct JoinQuestion: Sendable, Hashable {
    /// The name of the account that joins. Nil if the user is signed out.
    let account: String?
    /// The space of the link, if the person uses it already.
    let space: Space?
    /// The server's answer about the link. Nil until it arrives.
    var check: InvitationCheck?

    /// Whether the person may join with the account now. Whoever signs in is asked again, with the name of the account.
    /// A member may join again, because this device may not have heard yet that the person was removed.
    var mayJoin: Bool { account != nil && (!isMember || isOpen) }

    private var isMember: Bool { space?.isJoined == true }

    private var isOpen: Bool { if case .open = check { true } else { false } }

    /// The invitation in words. The server does not verify names.
    var invitation: String {
        switch check {
        case nil: "The invitation is being read."
        case .open(let preview): Self.text(of: preview)
        case .notValid:
            """
            The link does not work: it was used or revoked, it has ended, or the inviter's device has not synced yet. \
            If you join, this device tries for a day.
            """
        case .unknown:
            "The invitation cannot be read now. If you join, the server decides as soon as this device is online."
        }
    }

    private static func text(of preview: InvitationPreview) -> String {
        let inviter = preview.inviter.map { "\($0) (not verified)" } ?? "A former member"
        let right = preview.role.mayWrite ? "You can read and edit its items." : "You can read its items."
        let days = preview.daysLeft == 1 ? "1 day" : "\(preview.daysLeft) days"
        return "\(inviter) invites you to “\(preview.label)”. \(right) The link works for \(days)."
    }

    var message: String {
        if isMember, account != nil {
            return "You are already a member of this space."
                + (mayJoin ? " Join again only if an owner has removed you." : "")
        }
        guard let account else { return "You are signed out. Sign in, and the app asks again." }
        return "You join as \(account). The members see the name that you enter here."
    }

    /// Whether the button works. Members recognise each other by their names.
    func isAnswered(by name: String) -> Bool {
        mayJoin && !name.trimmingCharacters(in: .whitespacesAndNewlines).isEmpty
    }
}
