// This source file is part of the Optimist open source project, under the MIT licence.

import GRDB
import OptimistWire

/// The result of an event for one row: its entry before and after, and the rendering.
struct Passage {
    let before: RowEntry
    var entry: RowEntry
    let rendering: Rendering
    var deletion = Deletion.byServer
    /// What the event reported of the row, for unknown columns, and to put a full row where the app's table lacks the
    /// row.
    var told: RemotePage.Row.Content?
    /// Whether ``told`` is all that the server has of the row.
    var isWhole = false
    /// The user's sent values that lost to newer ones.
    var overwritten = JSONObject()

    var ref: RowRef { entry.ref }

    enum Deletion {
        case byServer
        /// A page reports that the server has merged the row into another one, which is here.
        case merged(into: DatabaseValue)
        /// An answer reports that the server has merged the row into another one. The row stands in for it until a page
        /// brings it.
        case united(with: DatabaseValue)
        /// The user's own row is taken back. This does not delete the server's versions of the rows below it.
        case takenBack
    }
}
