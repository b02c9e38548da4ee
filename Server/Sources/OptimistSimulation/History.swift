// This source file is part of the Optimist open source project, under the MIT licence.

/// What the judges know of every write, from looking at the tables before and after it. They know nothing of the engine.
struct History {
    struct Write {
        var device: Int
        /// Milliseconds of true time.
        var at: Int64
        /// Whether the app was told that it succeeded. If not, it may have happened or not.
        var hasReturned = false
        var cells: [RowName: Values] = [:]
        var inserted: Set<RowName> = []
        var deleted: Set<RowName> = []
    }

    private(set) var writes: [Write] = []
    /// The writes that touched a row.
    private(set) var byRow: [RowName: [Int]] = [:]
    /// Every value that the server ever had in a column of a row.
    private(set) var served: [RowName: [String: Set<String?>]] = [:]
    private(set) var servedSeq: Int64 = 0
    private(set) var present: [RowName: Values] = [:]

    /// Notes what a transaction is about to commit.
    ///
    /// - Returns: Its number.
    mutating func attempt(
        device: Int, at milliseconds: Int64, before: [RowName: Values], after: [RowName: Values], reborn: Set<RowName>
    ) -> Int {
        var write = Write(device: device, at: milliseconds)
        for (name, new) in after {
            let old = reborn.contains(name) ? nil : before[name]
            let changed = old.map { old in new.filter { old[$0.key] != $0.value } } ?? new
            if old == nil { write.inserted.insert(name) }
            if !changed.isEmpty { write.cells[name] = changed }
        }
        write.deleted = Set(before.keys.filter { after[$0] == nil || reborn.contains($0) })
        writes.append(write)
        for name in Set(write.cells.keys).union(write.deleted) { byRow[name, default: []].append(writes.count - 1) }
        return writes.count - 1
    }

    mutating func returned(_ number: Int) { writes[number].hasReturned = true }

    /// Takes in what the server has stored since.
    mutating func serve(_ rows: [(name: RowName, seq: Int64, values: Values?)]) {
        for row in rows {
            for (column, value) in row.values ?? [:] {
                served[row.name, default: [:]][column, default: []].insert(value)
            }
            present[row.name] = row.values
            servedSeq = max(servedSeq, row.seq)
        }
    }

    func writes(of row: RowName) -> [(number: Int, write: Write)] { (byRow[row] ?? []).map { ($0, writes[$0]) } }
}

extension History.Write: CustomStringConvertible {
    var description: String {
        let gone = deleted.sorted().map { "- \($0)" }
        let changed = cells.sorted { $0.key < $1.key }.map { row, values in
            "\(inserted.contains(row) ? "+" : "~") \(row) \(World.text(values))"
        }
        return (gone + changed).joined(separator: ", ")
    }
}
