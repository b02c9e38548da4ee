// This source file is part of the Optimist open source project, under the MIT licence.

import OptimistWire

extension PageRow.Content {
    var isAlive: Bool { if case .row = self { true } else { false } }
}

/// A row as the server has it, with its name in this database.
struct ReceivedRow: Sendable {
    let ref: RowRef
    let content: PageRow.Content
    /// Whether it was parked: an answer or a cascade parks what this app knows of a row.
    var hasWaited = false

    var isAlive: Bool { content.isAlive }

    /// Whether a resync did not bring the row, although the server has not said that it was deleted. It may be there
    /// again, in its first life and as of any transaction, so the device forgets all of it once it has gone.
    var isMissing: Bool {
        if case .deleted(let tombstone) = content { tombstone.seq == nil && tombstone.clock == nil } else { false }
    }

    /// Whether it tells all of the row. An answer, or what was kept for a column that a migration brought, tells a part.
    var isWhole: Bool { if case .row(let patch) = content { patch.seq != nil } else { true } }

    /// The wire id of the row that this one has become one with.
    var mergedInto: String? {
        if case .deleted(let tombstone) = content { tombstone.mergedInto } else { nil }
    }
}
