// This source file is part of the Optimist open source project, under the MIT licence.

import Foundation
import Optimist

/// The content of the form for a new invitation.
struct InvitationDraft: Sendable, Hashable {
    /// A link makes no owners: an owner gives that role to a member.
    static let roles: [SpaceRole] = [.writer, .reader]
    static let uses = 1...100
    static let days = 1...365

    var label = ""
    var role = SpaceRole.writer
    var uses = 1
    var days = 7

    /// The label is the only name of the space that people see before they join.
    var isComplete: Bool { !trimmedLabel.isEmpty }

    private var trimmedLabel: String { label.trimmingCharacters(in: .whitespacesAndNewlines) }

    func invite(to space: Space.ID, of store: Store) async throws {
        _ = try await store.invite(
            to: space, as: role, label: trimmedLabel, uses: uses, for: .seconds(days * 24 * 3600))
    }
}
