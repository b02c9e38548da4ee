// This source file is part of the Optimist open source project, under the MIT licence.

import OptimistWire

/// The effect of an event on one row: how the app's table changes, and what the user loses by that.
///
/// Pages and verdicts have the same kinds of effect. ``RowEntry`` decides without the row's values, so this is a change
/// of the table and not the row itself.
struct Rendering: Equatable, Sendable {
    /// Whether the app's table shows the server's row, merged with unsent edits.
    var placement = Placement.shown
    var change = RowChange.none
    /// Mask of the columns whose values the user loses. The values go to the journal before the change is made.
    var lost: Int64 = 0
    /// Mask of the columns in which another device has replaced the user's value without having read it. The values go
    /// to the journal before the change is made.
    var replaced: Int64 = 0
    /// Mask of the columns that stay as they are when the whole row is put again: the user's unsent ones, and those
    /// that the server has accepted later than the received row.
    var kept: Int64 = 0
    /// The user's own values that the server refused. Nil: it refused nothing.
    var rejected: JSONObject?
    /// The user's own values that were sent and lost to newer ones.
    var overwritten = JSONObject()
    /// Whether the answer came too late to decide anything, so that the row is sent once more.
    var isUndecided = false
}
