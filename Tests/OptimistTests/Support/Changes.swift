// This source file is part of the Optimist open source project, under the MIT licence.

import OptimistWire

@testable import Optimist

/// Unwraps changes for `#require`, so that a different kind of change is reported where the test expects it.
extension RemotePush.Row.Change {
    var created: RowPatch? { if case .create(let patch) = self { patch } else { nil } }
    var updated: RowPatch? { if case .update(let patch) = self { patch } else { nil } }
    var moved: RowPatch? { if case .move(_, let patch, _) = self { patch } else { nil } }
    var deleted: Tombstone? { if case .delete(let tombstone) = self { tombstone } else { nil } }
}

extension RemotePage.Row {
    var patch: RowPatch? { if case .row(let patch) = content { patch } else { nil } }
}
