// This source file is part of the Optimist open source project, under the MIT licence.

public import OptimistWire

extension Schema {
    /// A sample schema for tests: the to-dos of a planner.
    @_spi(Internals) public static let planner = Schema(
        id: "planner", version: 1,
        types: [
            "todo": TypeSchema(columns: [
                "content": ColumnSchema(.string, isRequired: true, maxBytes: 65_536),
                "date": ColumnSchema(.string), "priority": ColumnSchema(.int), "done": ColumnSchema(.bool),
                "alarm": ColumnSchema(.date),
            ])
        ])
}
