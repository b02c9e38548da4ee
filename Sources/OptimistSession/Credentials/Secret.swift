// This source file is part of the Optimist open source project, under the MIT licence.

/// A text that must not be seen: a token or a password. Printing it, dumping it or logging it shows no part of it.
public struct Secret: Hashable, Sendable {
    /// The text itself, to be handed to a header or to a store and to nothing else.
    public let exposed: String

    public init(_ text: String) { exposed = text }
}

extension Secret: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    public var description: String { "<redacted>" }
    public var debugDescription: String { description }
    public var customMirror: Mirror { Mirror(self, children: EmptyCollection<Mirror.Child>()) }
}
