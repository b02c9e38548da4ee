// This source file is part of the Optimist open source project, under the MIT licence.

@_spi(Internals) public import OptimistWire

/// An index entry of a living row. Its key is the id of a row that the living row refers to, or the living row's unique
/// values.
@_spi(Internals) public struct IndexEntry: Hashable, Sendable {
    /// The name of the index, unique within the row's type. The same name always means the same columns.
    public var index: String
    public var key: IndexKey

    public init(index: String, key: IndexKey) {
        self.index = index
        self.key = key
    }
}

extension UniqueIndex {
    /// The index's name in entries. It begins with "@", unlike column names.
    @_spi(Internals) public var name: String { "@" + columns.joined(separator: ",") }

    /// The row's key, or nil if one of the columns is null.
    func key(of row: MergeRow) -> IndexKey? {
        var values: [JSON] = []
        for column in columns {
            guard let value = row.cells[column]?.value, !value.isNull else { return nil }
            values.append(value)
        }
        return IndexKey(String(decoding: JSON.array(values).canonicalBytes, as: UTF8.self))
    }
}

extension TypeSchema {
    var hasIndexes: Bool { !uniqueIndexes.isEmpty || columns.values.contains { $0.target != nil } }

    @_spi(Internals) public var indexNames: Set<String> {
        Set(columns.filter { $0.value.target != nil }.keys).union(uniqueIndexes.map(\.name))
    }

    /// The index entries of a row, empty for a deleted row.
    @_spi(Internals) public func indexEntries(of row: MergeRow) -> Set<IndexEntry> {
        guard row.isAlive, hasIndexes else { return [] }
        var entries: Set<IndexEntry> = []
        for (column, definition) in columns where definition.target != nil {
            guard let id = row.cells[column]?.value.string else { continue }
            entries.insert(IndexEntry(index: column, key: IndexKey(id)))
        }
        for index in uniqueIndexes {
            if let key = index.key(of: row) { entries.insert(IndexEntry(index: index.name, key: key)) }
        }
        return entries
    }
}
