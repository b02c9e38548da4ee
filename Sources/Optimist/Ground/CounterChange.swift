// This source file is part of the Optimist open source project, under the MIT licence.

import OptimistWire

/// A counter's change as stored in the journal and in rejections, so that it can be made again: `{"@add": 2}`.
enum CounterChange {
    static func json(_ added: Int64) -> JSON { ["@add": .int(added)] }
    static func added(_ json: JSON) -> Int64? { json["@add"]?.int }
}
