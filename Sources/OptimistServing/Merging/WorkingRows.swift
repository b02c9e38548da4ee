// This source file is part of the Optimist open source project, under the MIT licence.

@_spi(Internals) import OptimistWire

struct WorkingRow {
    var row: MergeRow { didSet { weight = nil } }
    var memory: RowMemory { didSet { weight = nil } }
    /// The operation that introduced the row here. It is to blame if the row is not allowed.
    var cause: Cause
    var altered: Set<String> = []
    private(set) var weight: RowWeight?

    init(row: MergeRow, memory: RowMemory, cause: Cause) {
        self.row = row
        self.memory = memory
        self.cause = cause
    }

    struct Cause: Hashable {
        var unit: Int
        var key: RowKey
    }

    /// Merges columns and totals of the same life, and returns the columns that the row took. The time depends on the
    /// number of incoming columns and totals, not on the size of the row.
    mutating func absorb(_ incoming: MergeRow) -> Set<String> {
        let rest = (weight ?? RowWeight(of: row, memory)) - RowWeight(of: row, namedBy: incoming)
        let taken = row.merge(incoming).taken
        weight = rest + RowWeight(of: row, namedBy: incoming)
        return taken
    }

    mutating func setBack(before incoming: MergeRow, _ clock: ServerClock) {
        var (back, noted) = (row, memory)
        back.setBack(before: incoming, &noted, clock)
        if back != row { (row, memory) = (back, noted) }
    }

    var objectionToSize: SetError? { (weight ?? RowWeight(of: row, memory)).objection }
}

/// The rows as they will be after a transaction, on top of the stored rows. All reads go through a ``RowReader``, which
/// reads each row once.
struct WorkingRows {
    let schema: Schema
    private let reader: RowReader
    private(set) var rows: [RowKey: WorkingRow] = [:]
    /// The changed rows, by position. Nil: the row has moved to a later position.
    private var changed: [RowKey?] = []
    private var positions: [RowKey: Int] = [:]
    private var entries: [String: [IndexEntry: Set<RowKey>]] = [:]

    init(schema: Schema, reader: RowReader) {
        self.schema = schema
        self.reader = reader
    }

    func stored(_ key: RowKey) throws -> StoredRow? { try reader.row(key) }

    func step() throws { try reader.meter?.step() }

    func load(_ keys: some Sequence<RowKey>) throws { try reader.load(keys) }

    func references(to targets: Set<String>) -> [Schema.Reference] {
        reader.references.filter { $0.definition.target.map(targets.contains) == true }
    }

    func row(_ key: RowKey) throws -> MergeRow? { try rows[key]?.row ?? reader.row(key)?.row }

    func memory(_ key: RowKey) throws -> RowMemory { try rows[key]?.memory ?? reader.row(key)?.memory ?? RowMemory() }

    mutating func add(_ row: WorkingRow, at key: RowKey) {
        moveToEnd(key)
        store(row, at: key, formerly: [])
    }

    /// The rows in the order of their first changes. A row that is deleted by a cascade follows the row that caused the
    /// cascade.
    var order: [RowKey] { changed.compactMap(\.self) }

    mutating func moveToEnd(_ key: RowKey) {
        if let position = positions[key] { changed[position] = nil }
        positions[key] = changed.count
        changed.append(key)
    }

    private mutating func store(_ row: WorkingRow, at key: RowKey, formerly former: Set<IndexEntry>) {
        let present = indexEntries(of: row, key)
        for entry in former where !present.contains(entry) { entries[key.type]?[entry]?.remove(key) }
        for entry in present where !former.contains(entry) {
            entries[key.type, default: [:]][entry, default: []].insert(key)
        }
        rows[key] = row
    }

    private func indexEntries(of row: WorkingRow, _ key: RowKey) -> Set<IndexEntry> {
        schema.types[key.type]?.indexEntries(of: row.row) ?? []
    }

    func first(of keys: [RowKey]) -> RowKey? { keys.min { positions[$0] ?? .max < positions[$1] ?? .max } }

    mutating func change(_ key: RowKey, cause: WorkingRow.Cause, _ body: (inout WorkingRow) -> Void) throws {
        try step()
        // Remove the row from the dictionary so that a large row changes in place instead of being copied.
        if var row = rows.removeValue(forKey: key) {
            let former = indexEntries(of: row, key)
            body(&row)
            store(row, at: key, formerly: former)
        } else {
            var row = WorkingRow(row: try self.row(key) ?? MergeRow(), memory: try memory(key), cause: cause)
            body(&row)
            add(row, at: key)
        }
    }

    func holders(_ type: String, _ index: String, _ keys: [IndexKey]) throws -> [IndexKey: [RowKey]] {
        var found = try reader.holders(type, index, keys).mapValues { ids in
            ids.map { RowKey(type, $0) }.filter { rows[$0] == nil }
        }
        for key in Set(keys) {
            guard let mine = entries[type]?[IndexEntry(index: index, key: key)], !mine.isEmpty else { continue }
            found[key] = (found[key, default: []] + mine).sorted { $0.id < $1.id }
        }
        return found
    }

    /// The row that a row was merged into. Nil: the row was not merged, or the other row has begun a new life, which
    /// contains nothing from its old life (M2).
    func successor(of key: RowKey) throws -> RowKey? {
        var here = key
        var seen: Set = [key]
        while let next = try follower(of: here), seen.insert(next).inserted {
            try step()
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

/// Reads stored rows, each once, and adapts them to the current schema.
final class RowReader {
    private let snapshot: any AccountSnapshot
    private let schema: Schema
    let meter: WorkMeter?
    /// Cached, because each row of a long cascade needs the references.
    private(set) lazy var references = schema.references
    private var rows: [RowKey: StoredRow?] = [:]
    /// This many keys in one lookup count as one step. Each row that is found counts as another step.
    static let keysPerStep = 4
    private var holders: [String: [IndexEntry: [String]]] = [:]

    init(_ snapshot: any AccountSnapshot, schema: Schema, meter: WorkMeter?) {
        self.snapshot = snapshot
        self.schema = schema
        self.meter = meter
    }

    func row(_ key: RowKey) throws -> StoredRow? {
        if rows[key] == nil { try load([key]) }
        return rows[key] ?? nil
    }

    func load(_ keys: some Sequence<RowKey>) throws {
        var ids: [String: Set<String>] = [:]
        for key in keys where rows[key] == nil { ids[key.type, default: []].insert(key.id) }
        for (type, ids) in ids.sorted(by: { $0.key < $1.key }) {
            try meter?.step(count: 1 + ids.count / Self.keysPerStep)
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
            try meter?.step(count: 1 + unknown.count / Self.keysPerStep)
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
