// This source file is part of the Optimist open source project, under the MIT licence.

import OptimistWire

extension RemotePush.Verdict {
    /// Keeps unread values of these devices only.
    func tellingUnread(of devices: Set<String>) -> Self {
        guard case .merged(let seq, var won) = self, !won.unread.isEmpty else { return self }
        won.unread = won.unread.of(devices: devices)
        return .merged(seq: seq, won)
    }

    /// The server's winning values.
    var won: RowPatch? { if case .merged(_, let won) = self { won } else { nil } }
    var refusal: RemotePush.Refusal? { if case .rejected(let refusal) = self { refusal } else { nil } }

    /// The server's row, if reported with a refusal.
    var current: RowPatch? {
        if case .groupFailed(_, let row) = self { row } else { refusal?.current }
    }

    var waitReason: DeferralReason? {
        switch self {
        case .retry(_, let reason): reason
        case .lifeUnknown: DeferralReason("lifeUnknown")
        case .leaves: DeferralReason("behind")
        case .accepted, .merged, .mergedInto, .gone, .rejected, .blocked, .groupFailed: nil
        }
    }

    /// Whether the server has the row or its tombstone, as of a transaction.
    var isStored: Bool {
        switch self {
        case .accepted, .merged, .mergedInto, .gone: true
        case .rejected, .retry, .lifeUnknown, .blocked, .leaves, .groupFailed: false
        }
    }

    var isGone: Bool { if case .gone = self { true } else { false } }

    var isBlocked: Bool { if case .blocked = self { true } else { false } }

    var isLifeUnknown: Bool { if case .lifeUnknown = self { true } else { false } }

    var isGroupFailed: Bool { if case .groupFailed = self { true } else { false } }

    var isFinal: Bool {
        switch self {
        case .retry, .lifeUnknown, .blocked, .leaves, .groupFailed: false
        case .accepted, .merged, .mergedInto, .gone, .rejected: true
        }
    }
}
