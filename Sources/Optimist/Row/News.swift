// This source file is part of the Optimist open source project, under the MIT licence.

import OptimistWire

/// The values that an event reports for a row, next to its changes of the entry.
///
/// Unless `isWhole`, it has only new values, and none of an unsent column.
struct News: Equatable, Sendable {
    /// The row's values from now on: the server's new ones, or restored ones. Values of unsent columns count only as
    /// the server's.
    var values = JSONObject()
    /// Whether ``values`` is the complete row.
    var isWhole = false
    /// Mask of the columns for which the server has a later value than the received row.
    var later: Int64 = 0
    /// Mask of the unsent columns that end without a loss, because the server has them or a rejection keeps them.
    var settled: Int64 = 0
    /// The clocks of this device's values that another device replaced or ended unread.
    var unread = UnreadClocks()
}
