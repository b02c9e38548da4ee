// This source file is part of the Optimist open source project, under the MIT licence.

import GRDB
import OptimistWire

/// What an event comes to for one row: its entry before and after, and what becomes of it in the app's table.
struct Passage {
    let before: RowEntry
    var entry: RowEntry
    let rendering: Rendering
    /// Why the row is deleted, if it is.
    var deletion = Deletion.byServer
    /// What the event told of the row. It is kept as far as it is in columns that this app does not know.
    var told: RemotePage.Row.Content?
    /// Whether `told` is all that the server has of the row.
    var isWhole = false
    /// The user's own values that were sent and lost to newer ones.
    var overwritten = JSONObject()

    var ref: RowRef { entry.ref }

    enum Deletion {
        /// The server has deleted the row.
        case byServer
        /// The server has merged the row into another one.
        ///
        /// - Parameter mayStandIn: Whether the row may stand in for the other one until that one comes.
        case merged(into: DatabaseValue, mayStandIn: Bool)
        /// The user's own row is taken back. The user has then not deleted the server's versions of the rows below it.
        ///
        /// - Parameter sparing: The rows that the caller takes back itself.
        case takenBack(sparing: Set<RowRef>)
    }
}
