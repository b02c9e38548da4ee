// This source file is part of the Optimist open source project, under the MIT licence.

/// Identifies a row within an account. Its wire form, in groups and in `by`, is `Type:id`.
public struct RowKey: Hashable, Sendable {
    /// The row's type.
    public var type: String
    /// The row's id, a lower-case UUID after the service has checked it.
    public var id: String

    /// Makes a key without checking it.
    public init(_ type: String, _ id: String) {
        self.type = type
        self.id = id
    }

    /// Reads the wire form. Returns nil unless both sides of the colon have text.
    init?(_ text: String) {
        let parts = text.split(separator: ":", maxSplits: 1)
        guard parts.count == 2 else { return nil }
        self.init(String(parts[0]), String(parts[1]))
    }
}

extension RowKey: CustomStringConvertible {
    public var description: String { "\(type):\(id)" }
}
