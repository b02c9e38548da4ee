// This source file is part of the Optimist open source project, under the MIT licence.

import OptimistWire

/// What a verdict comes to, beside the change of the entry itself.
struct Settlement: Equatable, Sendable {
    var change = RowChange.none
    /// The user's own values that were refused. Nil: nothing was.
    var rejected: JSONObject?
    /// The user's own values that were sent and lost to newer ones.
    var overwritten = JSONObject()
    /// The columns whose values in the app's table are about to be lost, sent or not.
    var lost: Int64 = 0
    /// The unsent columns of the user's that stay when the whole row is put again.
    var kept: Int64 = 0
    /// Whether the server's row is unknown, so that it must be received again.
    var isUnknown = false
    /// Whether the answer was late and decides nothing, so that the row is sent once more.
    var isUndecided = false
}
