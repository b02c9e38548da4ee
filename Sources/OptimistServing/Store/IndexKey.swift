// This source file is part of the Optimist open source project, under the MIT licence.

/// A key in an index: the id of the row that a row refers to, or its unique values.
///
/// Keys are compared by their bytes, as SQLite compares them. Swift's own comparison treats a composed and a decomposed
/// letter as equal, so a row that changes from one to the other would still be found under its former value.
@_spi(Internals) public struct IndexKey: Sendable {
    /// The id of the row that is referred to, or the canonical JSON of the unique values.
    public let text: String

    /// Makes a key from such a text.
    public init(_ text: String) { self.text = text }
}

@_spi(Internals) extension IndexKey: Hashable, Comparable {
    public static func == (a: Self, b: Self) -> Bool { a.text.utf8.elementsEqual(b.text.utf8) }
    public static func < (a: Self, b: Self) -> Bool { a.text.utf8.lexicographicallyPrecedes(b.text.utf8) }

    public func hash(into hasher: inout Hasher) {
        var copy = text
        copy.withUTF8 { hasher.combine(bytes: UnsafeRawBufferPointer($0)) }
    }
}

extension RowKey {
    /// The key of the rows that refer to this one.
    var indexKey: IndexKey { IndexKey(id) }
}
