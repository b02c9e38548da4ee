// This source file is part of the Optimist open source project, under the MIT licence.

import OptimistWire

/// What an event says of a row's values, besides what it changes in the entry.
///
/// Without `isWhole`, only values that are new are told, and none of an unsent column.
struct News: Equatable, Sendable {
    /// The values that the row has from now on: those of the server that are new, or those that come back. Values of
    /// unsent columns only count as the server's.
    var values = JSONObject()
    /// Whether these are all values of the row.
    var isWhole = false
    /// Mask of the columns in which the server has a later value than the one in the received row.
    var later: Int64 = 0
    /// Mask of the unsent columns that end without a loss: the server has them, or a rejection keeps them.
    var settled: Int64 = 0
    /// The clocks of this device's values that another device has replaced or ended unread.
    var unread = UnreadClocks()
}
