// This source file is part of the Optimist open source project, under the MIT licence.

import OptimistWire

@testable import Optimist

/// What a change is, for `#require`: another kind of change is then an issue with the place in the test.
extension RemotePush.Row.Change {
    var created: RowPatch? { if case .create(let patch) = self { patch } else { nil } }
    var updated: RowPatch? { if case .update(let patch) = self { patch } else { nil } }
    var deleted: Tombstone? { if case .delete(let tombstone) = self { tombstone } else { nil } }
}

extension RemotePage.Row {
    /// The columns of a living row.
    var patch: RowPatch? { if case .row(let patch) = content { patch } else { nil } }
}
