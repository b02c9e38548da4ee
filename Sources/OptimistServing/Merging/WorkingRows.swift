// This source file is part of the Optimist open source project, under the MIT licence.

import OptimistWire

/// A row on its way through one transaction.
struct WorkingRow {
    var row: MergeRow
    var memory: RowMemory
    /// The operation that brought the row here: its fault it is if something is not allowed.
    var cause: Cause
    /// The columns in which the server put a value of its own.
    var altered: Set<String> = []

    /// An operation's row, and the unit that it belongs to.
    struct Cause: Hashable {
        var unit: Int
        var key: RowKey
    }
}

/// The rows as they will be after a transaction, over those that are stored.
///
/// Reading goes through a ``RowReader``, so that nothing is read twice.
struct WorkingRows {
    let schema: Schema
    private let reader: RowReader
    private(set) var rows: [RowKey: WorkingRow] = [:]
    /// The rows that changed, in the order in which they first did.
    private(set) var order: [RowKey] = []
    private var positions: [RowKey: Int] = [:]
    private var entries: [String: [IndexEntry: Set<RowKey>]] = [:]

    init(schema: Schema, reader: RowReader) {
        self.schema = schema
        self.reader = reader
    }

    func stored(_ key: RowKey) throws -> StoredRow? { try reader.row(key) }
    func load(_ keys: some Sequence<RowKey>) throws { try reader.load(keys) }

    /// The row as it will be. Nil: never heard of.
    func row(_ key: RowKey) throws -> MergeRow? { try rows[key]?.row ?? reader.row(key)?.row }

    func memory(_ key: RowKey) throws -> RowMemory { try rows[key]?.memory ?? reader.row(key)?.memory ?? RowMemory() }

    mutating func put(_ row: WorkingRow, at key: RowKey) {
        let type = schema.types[key.type]
        if type?.hasIndexes == true {
            for entry in type?.indexEntries(of: rows[key]?.row ?? MergeRow()) ?? [] {
                entries[key.type]?[entry]?.remove(key)
            }
            for entry in type?.indexEntries(of: row.row) ?? [] {
                entries[key.type, default: [:]][entry, default: []].insert(key)
            }
        }
        if rows.updateValue(row, forKey: key) == nil {
            positions[key] = order.count
            order.append(key)
        }
    }

    /// The one of some rows that changed first.
    func first(of keys: [RowKey]) -> RowKey? { keys.min { positions[$0] ?? .max < positions[$1] ?? .max } }

    /// Changes a row, which is stored or here already.
    mutating func change(_ key: RowKey, cause: WorkingRow.Cause, _ body: (inout WorkingRow) -> Void) throws {
        var row = try rows[key] ?? WorkingRow(row: self.row(key) ?? MergeRow(), memory: memory(key), cause: cause)
        body(&row)
        put(row, at: key)
    }

    /// The living rows that will stand under some keys of an index, sorted, by key.
    func holders(_ type: String, _ index: String, _ keys: [IndexKey]) throws -> [IndexKey: [RowKey]] {
        var found = try reader.holders(type, index, keys).mapValues { ids in
            ids.map { RowKey(type, $0) }.filter { rows[$0] == nil }
        }
        for key in keys {
            guard let mine = entries[type]?[IndexEntry(index: index, key: key)], !mine.isEmpty else { continue }
            found[key] = (found[key, default: []] + mine).sorted { $0.id < $1.id }
        }
        return found
    }

    /// The row that stands in the place of one that has become one with another. Nil: it has not, or that one has begun
    /// another life since, in which nothing of the old one shows (M2).
    func successor(of key: RowKey) throws -> RowKey? {
        var here = key
        var seen: Set = [key]
        while let next = try follower(of: here), seen.insert(next).inserted {
            here = next
            if try row(here)?.isAlive == true { break }
        }
        return here == key ? nil : here
    }

    private func follower(of key: RowKey) throws -> RowKey? {
        let memory = try memory(key)
        guard let next = memory.mergedInto.map({ RowKey(key.type, $0) }) else { return nil }
        guard let life = memory.mergedLife, let row = try row(next) else { return next }
        return try life >= self.memory(next).firstLife ?? row.presentLife ? next : nil
    }
}

/// Reads what is stored, each row once, and as the present schema has it.
final class RowReader {
    private let snapshot: any AccountSnapshot
    private let schema: Schema
    private var rows: [RowKey: StoredRow?] = [:]
    private var holders: [String: [IndexEntry: [String]]] = [:]

    init(_ snapshot: any AccountSnapshot, schema: Schema) {
        self.snapshot = snapshot
        self.schema = schema
    }

    func row(_ key: RowKey) throws -> StoredRow? {
        if rows[key] == nil { try load([key]) }
        return rows[key] ?? nil
    }

    /// Reads rows that will be asked for: one query for each type.
    func load(_ keys: some Sequence<RowKey>) throws {
        var ids: [String: Set<String>] = [:]
        for key in keys where rows[key] == nil { ids[key.type, default: []].insert(key.id) }
        for (type, ids) in ids.sorted(by: { $0.key < $1.key }) {
            let found = try snapshot.rows(type: type, ids: ids.sorted())
            let definition = schema.types[type]
            for id in ids {
                var stored = found[id]
                if let definition { stored?.row.follow(definition) }
                rows[RowKey(type, id)] = .some(stored)
            }
        }
    }

    func holders(_ type: String, _ index: String, _ keys: [IndexKey]) throws -> [IndexKey: [String]] {
        let unknown = Set(keys).filter { holders[type]?[IndexEntry(index: index, key: $0)] == nil }
        if !unknown.isEmpty {
            let found = try snapshot.holders(type: type, index: index, keys: unknown.sorted())
            for key in unknown { holders[type, default: [:]][IndexEntry(index: index, key: key)] = found[key] ?? [] }
        }
        var known: [IndexKey: [String]] = [:]
        for key in keys {
            let ids = holders[type]?[IndexEntry(index: index, key: key)] ?? []
            if !ids.isEmpty { known[key] = ids }
        }
        return known
    }
}
