// This source file is part of the Optimist open source project, under the MIT licence.

/// A key in an index: the id of a referenced row, or the unique values of a row.
///
/// Keys are compared by their bytes, as in SQLite. Swift treats composed and decomposed letters as equal, so a row that
/// changes from composed to decomposed letters would still be found under its old value.
@_spi(Internals) public struct IndexKey: Sendable {
    /// The id of the referenced row, or the canonical JSON of the unique values.
    public let text: String

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
    var indexKey: IndexKey { IndexKey(id) }
}
