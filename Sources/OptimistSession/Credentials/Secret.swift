// This source file is part of the Optimist open source project, under the MIT licence.

/// A text that must not be seen, such as a token or a password. Printing, dumping or logging it shows no part of it.
public struct Secret: Hashable, Sendable {
    /// The text itself, for a header field or a store and for nothing else.
    public let exposed: String

    /// Makes a secret of any text.
    public init(_ text: String) { exposed = text }
}

extension Secret: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    public var description: String { "<redacted>" }
    public var debugDescription: String { description }
    public var customMirror: Mirror { Mirror(self, children: EmptyCollection<Mirror.Child>()) }
}
