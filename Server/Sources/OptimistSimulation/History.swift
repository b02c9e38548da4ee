// This source file is part of the Optimist open source project, under the MIT licence.

import OptimistWire

/// The judges' record of every write, from comparing tables. It shares no logic with the engine.
struct History {
    struct Write {
        var device: Int
        /// Milliseconds of true time.
        var at: Int64
        /// Whether the write succeeded and the device still has it. If false, its outcome is unknown.
        var hasReturned = false
        /// Whether the device was restored to a file from before this write, which then counts like another device's.
        var isForgotten = false
        /// The written values, without counters.
        var cells: [RowName: Values] = [:]
        var counts: [RowName: Int64] = [:]
        /// The values that this write replaced or deleted.
        var replaced: [RowName: Values] = [:]
        var inserted: Set<RowName> = []
        var deleted: Set<RowName> = []
        /// The rows whose life began and ended within this write.
        var shortLived: Set<RowName> = []
    }

    private(set) var writes: [Write] = []
    private(set) var byRow: [RowName: [Int]] = [:]
    /// Every value that the server ever had.
    private(set) var served: [RowName: [String: Set<String?>]] = [:]
    /// The same values, by their clock.
    private(set) var written: [RowName: [String: [String: Set<String?>]]] = [:]
    private(set) var servedSeq: Int64 = 0
    private(set) var present: [RowName: Values] = [:]
    /// The restored devices.
    private(set) var restored: Set<Int> = []
    private(set) var hasServerGoneBack = false
    /// The writes, by the tag at the start of all their texts.
    private var numbers: [String: Int] = [:]

    /// Records a transaction before it commits.
    ///
    /// - Returns: The number of the write.
    mutating func attempt(
        device: Int, at milliseconds: Int64, tag: String, before: [RowName: Values], after: [RowName: Values],
        reborn: Set<RowName>, shortLived: Set<RowName>
    ) -> Int {
        var write = Write(device: device, at: milliseconds, shortLived: shortLived)
        for (name, new) in after {
            let old = reborn.contains(name) ? nil : before[name]
            var changed = old.map { old in new.filter { old[$0.key] != .some($0.value) } } ?? new
            for column in Tables.columns[name.table] ?? [] where column.kind == .counter {
                changed[column.name] = nil
                let added = Self.count(new[column.name]) - Self.count(old?[column.name])
                if added != 0 { write.counts[name] = added }
            }
            if old == nil { write.inserted.insert(name) }
            if !changed.isEmpty { write.cells[name] = changed }
            if let old { write.replaced[name] = old.filter { changed[$0.key] != nil } }
        }
        write.deleted = Set(before.keys.filter { after[$0] == nil || reborn.contains($0) })
        for name in write.deleted { write.replaced[name] = before[name] }
        writes.append(write)
        numbers[tag] = writes.count - 1
        for name in Set(write.cells.keys).union(write.deleted).union(write.counts.keys).union(shortLived) {
            byRow[name, default: []].append(writes.count - 1)
        }
        return writes.count - 1
    }

    private static func count(_ value: String??) -> Int64 { (value ?? nil).flatMap { Int64($0) } ?? 0 }

    mutating func returned(_ number: Int) { writes[number].hasReturned = true }

    /// Records that a device was restored, so its later writes may be lost.
    mutating func forgive(device: Int, since milliseconds: Int64) {
        restored.insert(device)
        for index in writes.indices where writes[index].device == device && writes[index].at >= milliseconds {
            writes[index].hasReturned = false
            writes[index].isForgotten = true
        }
    }

    /// Records the rows that the server has stored since the last call.
    ///
    /// - Returns: The writes that have now reached the server, at least in part.
    mutating func serve(_ rows: [ServedRow]) -> Set<Int> {
        var news: Set<Int> = []
        for row in rows {
            for (column, value) in row.values ?? [:] {
                if let clock = row.clocks?[column]?.description {
                    written[row.name, default: [:]][column, default: [:]][clock, default: []].insert(value)
                }
                let isNew = served[row.name, default: [:]][column, default: []].insert(value).inserted
                if isNew, let value, Tables.column(column, of: row.name.table)?.kind == .text,
                    let number = author(of: value), writes[number].cells[row.name]?[column] == .some(value)
                {
                    news.insert(number)
                }
            }
            present[row.name] = row.values
            servedSeq = max(servedSeq, row.seq)
        }
        return news
    }

    mutating func serverWentBack(to rows: [ServedRow]) {
        hasServerGoneBack = true
        present = [:]
        servedSeq = 0
        _ = serve(rows)
    }

    /// Whether a reference has the value that SQLite or a merge gave it when its target disappeared. The server's
    /// decision may arrive later.
    func isLeftBehind(_ value: String?, _ column: String, _ row: RowName, isGone: (RowName) -> Bool) -> Bool {
        served[row]?[column]?.contains { former in
            Tables.target(of: former, in: column, of: row.table, on: value == nil ? .setNull : nil).map(isGone) ?? false
        } == true
    }

    func writes(of row: RowName) -> [(number: Int, write: Write)] { (byRow[row] ?? []).map { ($0, writes[$0]) } }

    /// Nil if the text has no tag, or tags of several writes.
    private func author(of text: String) -> Int? {
        let words = text.split(separator: " ").filter { $0.hasPrefix("d") && $0.contains("w") && $0.contains(".") }
        guard words.count == 1, let tag = words[0].split(separator: ".").first else { return nil }
        return numbers[String(tag)]
    }
}

extension History.Write {
    /// Whether the other write's device may not have known of this write.
    func isApart(from other: History.Write) -> Bool { device != other.device || isForgotten }
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
