// This source file is part of the Optimist open source project, under the MIT licence.

import OptimistWire

/// The values that an event reports for a row. Unless `isWhole`, it has only new values, and none for unsent columns.
struct News: Equatable, Sendable {
    /// The row's new or restored values. For an unsent column, the value counts only as the server's.
    var values = JSONObject()
    var isWhole = false
    /// Mask of the columns that are later on the server than in the received row.
    var later: Int64 = 0
    /// Mask of the columns whose unsent edits end without a loss, because the server or a rejection has the values.
    var settled: Int64 = 0
    /// The clocks of this device's values that another device replaced or deleted without reading them.
    var unread = UnreadClocks()
}
