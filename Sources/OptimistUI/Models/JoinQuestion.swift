// This source file is part of the Optimist open source project, under the MIT licence.

import Foundation
import Optimist

/// A link that the user opened. The app writes only after the user agrees.
struct OpenedInvitation: Sendable, Hashable, Identifiable {
    let link: InvitationLink

    /// Nil if the URL is not an invitation.
    init?(_ url: URL) {
        guard let link = InvitationLink(url) else { return nil }
        self.link = link
    }

    var id: InvitationLink { link }
}

/// The question before a person joins a space.
struct JoinQuestion: Sendable, Hashable {
    /// The name of the account that joins. Nil if the user is signed out.
    let account: String?
    /// The space of the link, if the person uses it already.
    let space: Space?

    var mayJoin: Bool { space?.isJoined != true }

    var message: String {
        guard mayJoin else { return "You are already a member of this space." }
        guard let account else { return "You are signed out. You join with the account that you sign in with." }
        return "You join as \(account). The members see the name that you enter here."
    }

    /// Whether the button works. Members recognise each other by their names.
    func isAnswered(by name: String) -> Bool {
        mayJoin && !name.trimmingCharacters(in: .whitespacesAndNewlines).isEmpty
    }
}
