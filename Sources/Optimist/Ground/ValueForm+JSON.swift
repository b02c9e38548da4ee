// This source file is part of the Optimist open source project, under the MIT licence.

import OptimistWire

/// How a column stores JSON. What a column holds is the JSON's value: another device may write it with other spaces and escapes.
enum JSONForm: Sendable, Equatable {
    case text
    /// SQLite stores a number as a number, as it does in a column that is declared JSON.
    case numeric

    /// > Source: SQLite, "Datatypes In SQLite", determination of column affinity.
    init(declared: String) {
        let type = declared.uppercased()
        let isText = ["CHAR", "CLOB", "TEXT", "BLOB"].contains { type.contains($0) } && !type.contains("INT")
        self = isText ? .text : .numeric
    }

    /// How deep the store lets an app nest JSON. A push, a page and a refusal wrap rows in objects and arrays, and all of it is
    /// nested no deeper than the protocol allows.
    static let maxDepth = 24

    /// The value of a text. Nil if the text is no JSON, if the protocol would change its value, as it makes null of `null`, or if
    /// it would be read as a ``StrangeValue``.
    static func wire(_ text: String, maxDepth: Int) -> JSON? {
        guard let value = try? JSON(parsingExactly: text.utf8, maxDepth: maxDepth), !value.isNull,
            StrangeValue(value) == nil
        else { return nil }
        return value
    }
}
