// This source file is part of the Optimist open source project, under the MIT licence.

import GRDB
import OptimistWire

/// The result of an event for one row: its entry before and after, and what becomes of it in the app's table.
struct Passage {
    let before: RowEntry
    var entry: RowEntry
    let rendering: Rendering
    /// Why the row is deleted, if it is.
    var deletion = Deletion.byServer
    /// What the event told of the row. Values in columns that this app does not know are kept. A whole row is put where only
    /// some values are new, if the row is not in the app's table.
    var told: RemotePage.Row.Content?
    /// Whether `told` is all that the server has of the row.
    var isWhole = false
    /// The user's own values that were sent and lost to newer ones.
    var overwritten = JSONObject()

    var ref: RowRef { entry.ref }

    enum Deletion {
        /// The server has deleted the row.
        case byServer
        /// A page tells that the server has merged the row into another one, which is here.
        case merged(into: DatabaseValue)
        /// An answer tells that the server has merged the row into another one. The row stands in for that one until a page
        /// brings it.
        case united(with: DatabaseValue)
        /// The user's own row is taken back. The user has then not deleted the server's versions of the rows below it.
        case takenBack
    }
}
