// This source file is part of the Optimist open source project, under the MIT licence.

import Optimist

/// An action that ends a member's access, with the question that the user answers first.
enum AccessEnding: Sendable, Hashable {
    case removal(of: SpaceMember)
    case departure(MemberList.Departure)

    var title: String {
        switch self {
        case .removal(let member): "Remove \(member.title)?"
        case .departure(.leaves): "Leave this space?"
        case .departure(.endsSpace): "Delete this space?"
        case .departure(.lastOwner): "You are the only owner"
        }
    }

    var message: String {
        switch self {
        case .removal: "The shared items disappear from this person's devices."
        case .departure(.leaves): "The shared items disappear from your devices. The other members keep them."
        case .departure(.endsSpace): "You are the only member, so the shared items are deleted."
        case .departure(.lastOwner):
            "Make another member an owner before you leave. Or delete the space, with the shared items of all members."
        }
    }

    var button: String {
        switch self {
        case .removal: "Remove"
        case .departure(.leaves): "Leave"
        case .departure(.endsSpace): "Delete"
        case .departure(.lastOwner): "Delete for everyone"
        }
    }

    func carryOut(in space: Space.ID, of store: Store) async throws {
        switch self {
        case .removal(let member): try await store.remove(member.id)
        case .departure(.leaves), .departure(.endsSpace): try await store.leave(space)
        case .departure(.lastOwner): try await store.deleteSpace(space)
        }
    }
}

extension MemberList.Departure {
    /// The text of the button that asks.
    var label: String { self == .endsSpace ? "Delete space" : "Leave space" }
}

extension SpaceMember {
    /// The name to show. Two members can have the same name, because the server does not check it.
    var title: String { (name ?? "Unnamed member") + (isMe ? " (you)" : "") }
}
