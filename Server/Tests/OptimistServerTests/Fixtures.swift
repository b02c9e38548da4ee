// This source file is part of the Optimist open source project, under the MIT licence.

import OptimistServing
import OptimistWire

extension Schema {
    /// Lists and their to-dos.
    static let projects = Schema(
        id: "projects",
        types: [
            "List": TypeSchema(columns: ["name": ColumnSchema(.string, isRequired: true, maxBytes: 100)]),
            "Todo": TypeSchema(columns: [
                "content": ColumnSchema(.string, isRequired: true, maxBytes: 1000), "done": ColumnSchema(.bool),
                "priority": ColumnSchema(.int),
                "listId": ColumnSchema(.ref, target: "List"),
            ]),
        ])
}

extension RowKey {
    static func todo(_ number: Int) -> Self { RowKey("Todo", id(number)) }
    static func list(_ number: Int) -> Self { RowKey("List", id(number + 500_000)) }
    static func id(_ number: Int) -> String {
        let digits = String(number, radix: 16)
        return "00000000-0000-4000-8000-" + String(repeating: "0", count: 12 - digits.count) + digits
    }
}

extension WriteClock {
    /// A clock relative to the tests' start time.
    static func at(_ milliseconds: Int64, _ device: String = "deviceAA") -> Self {
        WriteClock(stamp: Stamp(milliseconds: 1_800_000_000_000 + milliseconds), device: device)
    }
}
