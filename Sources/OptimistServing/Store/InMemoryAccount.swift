// This source file is part of the Optimist open source project, under the MIT licence.

@_spi(Internals) import OptimistWire

/// The rows of one account in memory, in the order of their changes.
struct InMemoryAccount: Sendable {
    var notes = AccountNotes()
    private(set) var rows: [String: [String: StoredRow]] = [:]
    private var index: [String: [IndexEntry: Set<String>]] = [:]
    /// The positions of the rows, by type and in order, including positions that rows have left.
    private var order: [String: [(place: LogPosition, id: String)]] = [:]

    /// Stores a row under the current seq, after all other rows.
    ///
    /// - Returns: The previous version of the row, if any.
    mutating func put(_ change: RowChange, ordinal: Int) -> StoredRow? {
        let (row, key) = (StoredRow(change, seq: notes.seq, ordinal: ordinal), change.key)
        order[key.type, default: []].append((row.place, key.id))
        enter(key, dropping: change.droppedEntries, adding: change.addedEntries)
        return rows[key.type, default: [:]].updateValue(row, forKey: key.id)
    }

    /// Undoes the latest `put`.
    mutating func takeBack(_ change: RowChange, former: StoredRow?) {
        order[change.key.type]?.removeLast()
        enter(change.key, dropping: change.addedEntries, adding: change.droppedEntries)
        rows[change.key.type]?[change.key.id] = former
    }

    private mutating func enter(_ key: RowKey, dropping: Set<IndexEntry>, adding: Set<IndexEntry>) {
        for entry in dropping {
            index[key.type]?[entry]?.remove(key.id)
            if index[key.type]?[entry]?.isEmpty == true { index[key.type]?[entry] = nil }
        }
        for entry in adding { index[key.type, default: [:]][entry, default: []].insert(key.id) }
    }

    var entryCount: Int { index.values.reduce(0) { $0 + $1.values.reduce(0) { $0 + $1.count } } }

    func holders(_ type: String, _ entry: IndexEntry) -> [String] { index[type]?[entry]?.sorted() ?? [] }

    /// The deleted rows up to a transaction, oldest first.
    func deleted(upTo seq: Int64) -> [(key: RowKey, row: StoredRow)] {
        let all = rows.flatMap { type, rows in
            rows.filter { !$0.value.row.isAlive && $0.value.seq <= seq }.map { (RowKey(type, $0.key), $0.value) }
        }
        return all.sorted { $0.1.place < $1.1.place }
    }

    /// Removes a row. Its position stays in the list until ``sweep()``.
    mutating func forget(_ key: RowKey) { rows[key.type]?[key.id] = nil }

    mutating func remember(_ row: StoredRow, at key: RowKey) { rows[key.type, default: [:]][key.id] = row }

    /// Removes abandoned positions when they are the majority. After that, earlier changes can no longer be undone.
    mutating func sweep() {
        for (type, places) in order where places.count > 2 * (rows[type]?.count ?? 0) + 16 {
            order[type] = places.filter { rows[type]?[$0.id]?.place == $0.place }
        }
    }

    func changed(_ type: String, from start: LogPosition) -> some Sequence<(id: String, row: StoredRow)> {
        let places = order[type] ?? []
        var (low, high) = (0, places.count)
        while low < high {
            let middle = (low + high) / 2
            if places[middle].place < start { low = middle + 1 } else { high = middle }
        }
        let rows = rows[type] ?? [:]
        return places[low...].lazy.compactMap { entry in
            rows[entry.id].flatMap { $0.place == entry.place ? (entry.id, $0) : nil }
        }
    }

    /// The account converted to the names and indexes of a schema.
    ///
    /// - Parameter vocabulary: Maps the account's names to those of the schema.
    func following(_ schema: Schema, from vocabulary: Vocabulary) -> InMemoryAccount {
        var account = InMemoryAccount()
        account.notes = notes
        for (former, rows) in rows {
            let type = vocabulary.presentType(former)
            account.order[type] = order[former]
            for (id, stored) in rows {
                let stored = stored.renamed { vocabulary.presentColumn($0, of: type) }
                account.rows[type, default: [:]][id] = stored
                account.enter(
                    RowKey(type, id), dropping: [], adding: schema.types[type]?.indexEntries(of: stored.row) ?? [])
            }
        }
        return account
    }
}

extension StoredRow {
    fileprivate func renamed(_ name: (String) -> String) -> StoredRow {
        func renamed<Value>(_ columns: [String: Value]) -> [String: Value] {
            Dictionary(columns.map { (name($0.key), $0.value) }, uniquingKeysWith: { $1 })
        }
        var stored = self
        stored.row.cells = renamed(row.cells)
        stored.row.counters = renamed(row.counters)
        stored.memory.replaced = renamed(memory.replaced)
        stored.memory.unread = memory.unread.renamed(name)
        return stored
    }
}
