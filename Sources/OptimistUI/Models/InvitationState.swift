// This source file is part of the Optimist open source project, under the MIT licence.

public import Foundation
public import Optimist

/// Whether an invitation still admits people.
public enum InvitationState: Sendable, Hashable, CaseIterable {
    /// The server does not know the invitation yet, so its link does not work yet.
    case unsent
    /// The link works.
    case open
    /// The link has admitted as many people as it may.
    case usedUp
    /// The link's time is over.
    case ended

    /// The state of an invitation at a time.
    public init(_ invitation: SpaceInvitation, at now: Date) {
        if let end = invitation.endsAt, end <= now {
            self = .ended
        } else if let uses = invitation.uses, invitation.used >= uses {
            self = .usedUp
        } else {
            self = invitation.state == RowState.synced.rawValue ? .open : .unsent
        }
    }

    /// Whether sending the link to people makes sense.
    public var isWorthSharing: Bool { self == .open || self == .unsent }

    /// A short English label. An app in other languages provides its own.
    public var label: String {
        switch self {
        case .unsent: "Works as soon as this device has synced"
        case .open: "Open"
        case .usedUp: "Used up"
        case .ended: "Ended"
        }
    }
}

extension SpaceInvitation {
    /// One line, such as `Can edit, 1 of 3 used`.
    var summary: String {
        var parts = [(role ?? .reader).label]
        if let uses { parts.append("\(used) of \(uses) used") }
        return parts.joined(separator: ", ")
    }
}
