// This source file is part of the Optimist open source project, under the MIT licence.

import OptimistWire

/// The change that a rendering makes to the app's table.
enum RowChange: Equatable, Sendable {
    case none
    /// Insert the row, or replace every column of it.
    case put(JSONObject)
    /// Set some columns.
    case set(JSONObject)
    case delete
}
