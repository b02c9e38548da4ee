// This source file is part of the Optimist open source project, under the MIT licence.

import OptimistWire

/// What the judges know of every write, from looking at the tables before and after it. They share no decision with
/// the engine.
struct History {
    struct Write {
        var device: Int
        /// Milliseconds of true time.
        var at: Int64
        /// Whether the app was told that it succeeded and the device still has it. If not, it may have happened or not.
        var hasReturned = false
        /// Whether the device has gone back to a file from before it, so that it is like another device's.
        var isForgotten = false
        /// The values that were written, without counters.
        var cells: [RowName: Values] = [:]
        /// The amounts that were added to counters.
        var counts: [RowName: Int64] = [:]
        /// The values that the device showed before, where it replaced or deleted them.
        var replaced: [RowName: Values] = [:]
        var inserted: Set<RowName> = []
        var deleted: Set<RowName> = []
        /// What began a life and ended it again.
        var shortLived: Set<RowName> = []
    }

    private(set) var writes: [Write] = []
    /// The writes that touched a row.
    private(set) var byRow: [RowName: [Int]] = [:]
    /// Every value that the server ever had in a column of a row.
    private(set) var served: [RowName: [String: Set<String?>]] = [:]
    /// The same by the clock under which the server had it.
    private(set) var written: [RowName: [String: [String: Set<String?>]]] = [:]
    private(set) var servedSeq: Int64 = 0
    private(set) var present: [RowName: Values] = [:]
    /// The devices that have gone back to a copy of their file.
    private(set) var restored: Set<Int> = []
    /// Whether the server has gone back to a copy of its file.
    private(set) var hasServerGoneBack = false
    /// The writes by what all their texts begin with.
    private var numbers: [String: Int] = [:]

    /// Notes what a transaction is about to commit.
    ///
    /// - Returns: Its number.
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

    /// Takes note that a device went back to a copy of its file: what it wrote since may be nowhere.
    mutating func forgive(device: Int, since milliseconds: Int64) {
        restored.insert(device)
        for index in writes.indices where writes[index].device == device && writes[index].at >= milliseconds {
            writes[index].hasReturned = false
            writes[index].isForgotten = true
        }
    }

    /// Takes in what the server has stored since.
    ///
    /// - Returns: The writes that came at least in part for the first time.
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

    /// Takes note that the server went back to a copy of its file.
    mutating func serverWentBack(to rows: [ServedRow]) {
        hasServerGoneBack = true
        present = [:]
        servedSeq = 0
        _ = serve(rows)
    }

    /// Whether a reference is as SQLite or a merge has left it since its row went from the device. The server's decision
    /// about it comes with a later page, or waits for this device's own delete.
    func isLeftBehind(_ value: String?, _ column: String, _ row: RowName, isGone: (RowName) -> Bool) -> Bool {
        served[row]?[column]?.contains { former in
            Tables.target(of: former, in: column, of: row.table, on: value == nil ? .setNull : nil).map(isGone) ?? false
        } == true
    }

    func writes(of row: RowName) -> [(number: Int, write: Write)] { (byRow[row] ?? []).map { ($0, writes[$0]) } }

    /// Which write made a text. Nil: it is no such text, or made of several.
    private func author(of text: String) -> Int? {
        let words = text.split(separator: " ").filter { $0.hasPrefix("d") && $0.contains("w") && $0.contains(".") }
        guard words.count == 1, let tag = words[0].split(separator: ".").first else { return nil }
        return numbers[String(tag)]
    }
}

extension History.Write {
    /// Whether the device of another write may not have known of this one when it made that.
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
