// This source file is part of the Optimist open source project, under the MIT licence.

/// The name of a row within an account. On the wire, in groups and in `by`, it is `Type:id`.
public struct RowKey: Hashable, Sendable {
    /// The row's type.
    public var type: String
    /// The row's id, a lower-case UUID once the service has checked it.
    public var id: String

    /// Makes a key, unchecked.
    public init(_ type: String, _ id: String) {
        self.type = type
        self.id = id
    }

    /// Reads the wire form. Returns nil unless there is text on both sides of a colon.
    init?(_ text: String) {
        let parts = text.split(separator: ":", maxSplits: 1)
        guard parts.count == 2 else { return nil }
        self.init(String(parts[0]), String(parts[1]))
    }
}

extension RowKey: CustomStringConvertible {
    public var description: String { "\(type):\(id)" }
}
