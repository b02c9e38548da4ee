// This source file is part of the Optimist open source project, under the MIT licence.

import OptimistWire

/// How a column stores JSON. Only the JSON value counts: another device may write it with other spaces and escapes.
enum JSONForm: Sendable, Equatable {
    case text
    /// SQLite converts a text that is a number to a number, for example in a column declared JSON.
    case numeric

    /// > Source: SQLite, "Datatypes In SQLite", determination of column affinity.
    init(declared: String) {
        let type = declared.uppercased()
        let isText = ["CHAR", "CLOB", "TEXT", "BLOB"].contains { type.contains($0) } && !type.contains("INT")
        self = isText ? .text : .numeric
    }

    /// The maximum nesting depth of an app's JSON. Pushes, pages and refusals wrap rows in further objects and arrays,
    /// and the protocol limits the total depth.
    static let maxDepth = 24

    /// Parses a text. Nil if it is not JSON, if the protocol would change its value (the text `null` becomes an SQL
    /// null), or if it would be read back as a ``StrangeValue``.
    static func wire(_ text: String, maxDepth: Int) -> JSON? {
        guard let value = try? JSON(parsingExactly: text.utf8, maxDepth: maxDepth), !value.isNull,
            StrangeValue(value) == nil
        else { return nil }
        return value
    }
}
