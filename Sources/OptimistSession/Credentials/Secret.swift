// This source file is part of the Optimist open source project, under the MIT licence.

/// A confidential text, such as a token or password. Printing, dumping or logging it reveals no part of it.
public struct Secret: Hashable, Sendable {
    /// The text. Use it only for a header field or a store.
    public let exposed: String

    /// Makes a secret.
    public init(_ text: String) { exposed = text }
}

extension Secret: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    public var description: String { "<redacted>" }
    public var debugDescription: String { description }
    public var customMirror: Mirror { Mirror(self, children: EmptyCollection<Mirror.Child>()) }
}
