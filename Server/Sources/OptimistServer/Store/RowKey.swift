// This source file is part of the Optimist open source project, under the MIT licence.

/// Names a row within an account. On the wire, in groups and in `by`: `Type:id`.
struct RowKey: Hashable, Sendable {
    var type: String
    var id: String

    init(_ type: String, _ id: String) {
        self.type = type
        self.id = id
    }

    /// Reads the wire form. Nil if there is no colon in it.
    init?(_ text: String) {
        let parts = text.split(separator: ":", maxSplits: 1)
        guard parts.count == 2 else { return nil }
        self.init(String(parts[0]), String(parts[1]))
    }
}

extension RowKey: CustomStringConvertible {
    var description: String { "\(type):\(id)" }
}
