// This source file is part of the Optimist open source project, under the MIT licence.

public import Optimist

/// This person's access to a space, for a badge.
public enum SpaceState: Sendable, Hashable {
    /// The server has not admitted the person yet.
    case pending
    /// The person is a member.
    case member(SpaceRole)
    /// The person has left, and the server has not confirmed it yet.
    case leaving

    /// The state of a space.
    public init(_ space: Space) {
        switch (space.phase, space.role) {
        case (.leaving, _): self = .leaving
        case (.joined, let role?): self = .member(role)
        default: self = .pending
        }
    }

    /// A short English label for display and assistive technologies. An app in other languages provides its own.
    public var label: String {
        switch self {
        case .pending: "Waiting for the server"
        case .leaving: "Leaving"
        case .member(let role): role.label
        }
    }

    /// The name of an SF Symbol.
    public var symbol: String {
        switch self {
        case .pending: "clock"
        case .leaving: "rectangle.portrait.and.arrow.right"
        case .member(let role): role.mayWrite ? "person.2" : "eye"
        }
    }
}

extension SpaceRole {
    /// A short English label. An app in other languages provides its own.
    public var label: String {
        switch self {
        case .owner: "Owner"
        case .writer: "Can edit"
        default: "Can read"
        }
    }
}
