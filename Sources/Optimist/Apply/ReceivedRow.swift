// This source file is part of the Optimist open source project, under the MIT licence.

import OptimistWire

extension RemotePage.Row.Content {
    var isAlive: Bool { if case .row = self { true } else { false } }

    /// The clocks of values that a device replaced or deleted without having read them.
    var unread: UnreadClocks {
        switch self {
        case .row(let patch): patch.unread
        case .deleted(let tombstone): tombstone.unread
        }
    }

    /// Keeps only the unread clocks of these devices.
    func tellingUnread(of devices: Set<String>) -> Self {
        switch self {
        case .row(var patch) where !patch.unread.isEmpty:
            patch.unread = patch.unread.of(devices: devices)
            return .row(patch)
        case .deleted(var tombstone) where !tombstone.unread.isEmpty:
            tombstone.unread = tombstone.unread.of(devices: devices)
            return .deleted(tombstone)
        case .row, .deleted: return self
        }
    }
}

/// A row as the server has it, with its key in this database.
struct ReceivedRow: Sendable {
    let ref: RowRef
    /// The number of the ``Scope`` whose server order the row belongs to.
    var scope = Scope.personal
    let content: RemotePage.Row.Content
    /// Whether the row was parked. If an answer or a cascade parked the row, it has only columns that this app knows.
    var hasWaited = false

    var isAlive: Bool { content.isAlive }

    var hasMoved: Bool { if case .deleted(let tombstone) = content { tombstone.movedTo != nil } else { false } }

    var isMissing: Bool { if case .deleted(let tombstone) = content { tombstone.isMissing } else { false } }

    /// Whether the row is complete. False for the columns of an answer, and for a value that was kept until a migration
    /// added its column.
    var isWhole: Bool { if case .row(let patch) = content { patch.seq != nil } else { true } }

    /// The wire id of the row that this one was merged into.
    var mergedInto: String? {
        if case .deleted(let tombstone) = content { tombstone.mergedInto } else { nil }
    }
}

extension Tombstone {
    /// Whether the row was missing from a resync, although the server has not reported its deletion. The server may
    /// later have the row again, in its first life and from any transaction.
    var isMissing: Bool { seq == nil && clock == nil }
}
