// This source file is part of the Optimist open source project, under the MIT licence.

/// Every write of a user, found by comparing tables, and the server's order. The history shares no logic with the
/// engine.
struct History {
    struct Write {
        var device: Int
        /// Milliseconds of true time.
        var at: Int64
        /// For each row, the server's last transaction that the device had read or, before it deleted the row, had
        /// caused.
        var read: [RowName: Int64] = [:]
        /// Whether the write succeeded and the device still has it. If false, its outcome is unknown.
        var hasReturned = false
        /// Whether the device was restored to a file from before this write. The write then counts like another
        /// device's.
        var isForgotten = false
        /// The written values, without counters.
        var cells: [RowName: Values] = [:]
        var counts: [RowName: Int64] = [:]
        /// The values that this write replaced or deleted.
        var replaced: [RowName: Values] = [:]
        var inserted: Set<RowName> = []
        var deleted: Set<RowName> = []
    }

    private(set) var log = ServerLog()
    private(set) var writes: [Write] = []
    private(set) var byRow: [RowName: [Int]] = [:]
    /// The restored devices.
    private(set) var restored: Set<Int> = []
    /// The numbers of the writes, by the tag that all texts of a write begin with.
    private var numbers: [String: Int] = [:]

    /// Records a transaction before it commits.
    ///
    /// - Returns: The number of the write.
    mutating func attempt(
        device: Int, at milliseconds: Int64, tag: String, read: [RowName: Int64], before: [RowName: Values],
        after: [RowName: Values], reborn: Set<RowName>
    ) -> Int {
        var write = Write(device: device, at: milliseconds, read: read.mapValues(log.position))
        write.deleted = Set(before.keys.filter { after[$0] == nil || reborn.contains($0) })
        for name in write.deleted {
            write.replaced[name] = before[name]
            let sent = log.versions(of: name).first { hasSent($0.row, of: write) }?.position ?? 0
            // After a restore, the device or the server may not know this life.
            if !log.hasGoneBack, !restored.contains(device) { write.read[name] = max(write.read[name] ?? 0, sent) }
        }
        for (name, values) in after {
            write.note(values, of: name, instead: reborn.contains(name) ? nil : before[name])
        }
        writes.append(write)
        numbers[tag] = writes.count - 1
        for name in Set(write.cells.keys).union(write.deleted).union(write.counts.keys) {
            byRow[name, default: []].append(writes.count - 1)
        }
        return writes.count - 1
    }

    /// Whether a served row has a text that a write replaced or deleted, and that only its device wrote to the row. Two
    /// devices may create the same row with the same text.
    private func hasSent(_ served: ServedRow, of write: Write) -> Bool {
        (write.replaced[served.name] ?? [:]).contains { column, value in
            let cell = Cell(row: served.name, column: column, value: value)
            return cell.isText && served.values?[column] == .some(value)
                && writers(of: cell).allSatisfy { $0.write.device == write.device }
        }
    }

    mutating func returned(_ number: Int) { writes[number].hasReturned = true }

    /// Records that a device was restored to its file from before a write, so that it may have lost this and later
    /// writes.
    mutating func forgive(device: Int, since number: Int) {
        restored.insert(device)
        for index in writes.indices where writes[index].device == device && index >= number {
            writes[index].hasReturned = false
            writes[index].isForgotten = true
        }
    }

    /// Records the rows that the server has stored since the last call, and returns their versions.
    mutating func serve(_ rows: [ServedRow]) -> [ServerLog.Version] { log.serve(rows) }

    mutating func serverWentBack(to rows: [ServedRow]) { log.goBack(to: rows) }

    // MARK: - Questions

    func writes(of row: RowName) -> [(number: Int, write: Write)] { (byRow[row] ?? []).map { ($0, writes[$0]) } }

    /// The later writes of the same device, if the device still has them.
    func laterWrites(of row: RowName, than number: Int) -> [(number: Int, write: Write)] {
        writes(of: row).filter { $0.number > number && !$0.write.isApart(from: writes[number]) }
    }

    func writers(of cell: Cell) -> [(number: Int, write: Write)] {
        writes(of: cell.row).filter { $0.write.cells[cell.row]?[cell.column] == .some(cell.value) }
    }

    /// The write that gave a text to a row. Nil if the text is without a tag, or has several tags.
    func author(of cell: Cell) -> Int? {
        let words = (cell.value ?? "").split(separator: " ").filter {
            $0.hasPrefix("d") && $0.contains("w") && $0.contains(".")
        }
        guard words.count == 1, let tag = words[0].split(separator: ".").first, let number = numbers[String(tag)] else {
            return nil
        }
        return writes[number].cells[cell.row]?[cell.column] == .some(cell.value) ? number : nil
    }
}

extension History.Write {
    /// Whether the device of the other write may not have known of this write.
    func isApart(from other: History.Write) -> Bool { device != other.device || isForgotten }

    fileprivate mutating func note(_ new: Values, of row: RowName, instead old: Values?) {
        var changed = old.map { old in new.filter { old[$0.key] != .some($0.value) } } ?? new
        if let counter = Tables.counter(of: row.table) {
            let added = Self.count(new[counter]) - Self.count(old?[counter])
            if added != 0 { counts[row] = added }
            changed[counter] = nil
        }
        if old == nil { inserted.insert(row) }
        if !changed.isEmpty { cells[row] = changed }
        if let old { replaced[row] = old.filter { changed[$0.key] != nil } }
    }

    private static func count(_ value: String??) -> Int64 { (value ?? nil).flatMap { Int64($0) } ?? 0 }

    var sortedCells: [Cell] {
        cells.sorted { $0.key < $1.key }.flatMap { row, values in
            values.sorted { $0.key < $1.key }.map { Cell(row: row, column: $0.key, value: $0.value) }
        }
    }
}

extension History.Write: CustomStringConvertible {
    var description: String {
        let gone = deleted.sorted().map { "- \($0)" }
        let changed = cells.sorted { $0.key < $1.key }.map { row, values in
            "\(inserted.contains(row) ? "+" : "~") \(row) \(World.text(values))"
        }
        let counted = counts.sorted { $0.key < $1.key }.map { "\($0.key) += \($0.value)" }
        return (gone + changed + counted).joined(separator: ", ")
    }
}
