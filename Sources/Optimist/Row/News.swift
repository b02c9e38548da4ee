// This source file is part of the Optimist open source project, under the MIT licence.

import OptimistWire

/// The values that an event reports for a row. Unless `isWhole`, only new values, and none of an unsent column.
struct News: Equatable, Sendable {
    /// The row's new or restored values. Values of unsent columns count only as the server's.
    var values = JSONObject()
    var isWhole = false
    /// Mask of the columns that are later on the server than in the received row.
    var later: Int64 = 0
    /// Mask of the unsent columns that end without a loss, because the server or a rejection has them.
    var settled: Int64 = 0
    /// The clocks of this device's values that another device replaced or ended unread.
    var unread = UnreadClocks()
}
