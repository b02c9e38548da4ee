// This source file is part of the Optimist open source project, under the MIT licence.

import GRDB
import OptimistWire

/// An event's result for one row.
struct Passage {
    let before: RowEntry
    var entry: RowEntry
    let rendering: Rendering
    var deletion = Deletion.byServer
    /// The reported row. Its unknown columns are kept, and if the app's table lacks the row, the full row is put.
    var told: RemotePage.Row.Content?
    /// Whether ``told`` is all that the server has of the row.
    var isWhole = false
    /// The user's sent values that lost to newer ones.
    var overwritten = JSONObject()

    var ref: RowRef { entry.ref }

    enum Deletion {
        case byServer
        /// A page reports a merge into another row, which this device has.
        case merged(into: DatabaseValue)
        /// An answer reports a merge into another row. This row stands in for the other row until a page contains the
        /// other row.
        case united(with: DatabaseValue)
        /// The user's own row is taken back, which does not delete the server's rows below it.
        case takenBack
    }
}
