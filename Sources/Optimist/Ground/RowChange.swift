// This source file is part of the Optimist open source project, under the MIT licence.

import OptimistWire

/// A change to a row of the app's table.
enum RowChange: Equatable, Sendable {
    case none
    /// Insert the row, or replace all its columns.
    case put(JSONObject)
    case set(JSONObject)
    case delete
}
