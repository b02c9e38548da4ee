// This source file is part of the Optimist open source project, under the MIT licence.

import OptimistWire

/// A counter's change as the journal and the rejections keep it: `{"@add": 2}`. The change can be made again later.
enum CounterChange {
    static func json(_ added: Int64) -> JSON { ["@add": .int(added)] }
    static func added(_ json: JSON) -> Int64? { json["@add"]?.int }
}
