// This source file is part of the Optimist open source project, under the MIT licence.

import Optimist
import OptimistWire

struct ConformanceKey: Hashable, CustomStringConvertible {
    let table: String
    let id: String
    var description: String { "\(table):\(id)" }
}

/// A row of a generated push.
struct DrawnRow {
    let row: RemotePush.Row
    /// Whether the remote must refuse the row.
    let isRefused: Bool
    /// The number of the first push with the row, counting the pushes of all devices.
    var arrival: Int64 = 0
    var key: ConformanceKey { ConformanceKey(table: row.table, id: row.id) }
}

/// The rows that the remote must have according to its verdicts.
struct ExpectedRows {
    struct Expected {
        var row = MergeRow()
        var lastWriter = 0
        var wasRepeated = false
    }

    private(set) var rows: [ConformanceKey: Expected] = [:]
    /// The remote must not have these rows.
    private(set) var refused: Set<ConformanceKey> = []
    let counters: [String: Set<String>]
    let merging: RemoteConformance.Merging

    init(_ tables: [RemoteConformance.Table], _ merging: RemoteConformance.Merging) {
        self.merging = merging
        counters = Dictionary(tables.map { ($0.name, Set($0.counters)) }, uniquingKeysWith: { $1 })
    }

    // MARK: - Verdicts

    /// - Throws: ``ConformanceFinding`` if a verdict is wrong.
    mutating func take(
        _ verdicts: [RemotePush.Verdict], of drawn: [DrawnRow], groups: [Range<Int>], by device: Int, isRepeat: Bool
    ) throws {
        guard verdicts.count == drawn.count else {
            throw ConformanceFinding(
                .judgesEachRow, "The answer to a push of \(drawn.count) rows contains \(verdicts.count) verdicts.")
        }
        try checkRefusals(verdicts, of: drawn)
        try checkRowsOfRefusals(verdicts, of: drawn)
        try checkGroups(verdicts, of: drawn, groups)
        for (drawn, verdict) in zip(drawn, verdicts) {
            try take(verdict, of: drawn, by: device, isRepeat: isRepeat)
        }
    }

    /// If a good row is refused and a bad one accepted, the verdicts are swapped.
    private func checkRefusals(_ verdicts: [RemotePush.Verdict], of drawn: [DrawnRow]) throws {
        let pairs = zip(drawn, verdicts)
        let wronglyRefused = pairs.first { !$0.isRefused && $1.isRefusal }
        let wronglyAccepted = pairs.first { $0.isRefused && $1.isApplied }
        if let (good, verdict) = wronglyRefused {
            if let (bad, _) = wronglyAccepted {
                throw ConformanceFinding(
                    .judgesEachRow,
                    "It refused the valid row \(good.key) and accepted the invalid row \(bad.key).")
            }
            throw ConformanceFinding(
                .judgesEachRow,
                "It refused \(good.key): \(verdict.name). It must accept the rows that `row` creates. Correct "
                    + "the remote or `row`.")
        }
        if let (bad, _) = wronglyAccepted {
            throw ConformanceFinding(
                .judgesEachRow,
                "It accepted \(bad.key). It must refuse the rows that `refusedRow` creates. Correct the remote or "
                    + "`refusedRow`.")
        }
    }

    /// Detects a refusal that contains the row of another refusal.
    private func checkRowsOfRefusals(_ verdicts: [RemotePush.Verdict], of drawn: [DrawnRow]) throws {
        let keys = drawn.map(\.key)
        for (key, verdict) in zip(keys, verdicts) {
            guard case .rejected(let refusal) = verdict, let current = refusal.current else { continue }
            let fitting = keys.filter { fits(current, $0) }
            if let other = fitting.first, !fitting.contains(key) {
                throw ConformanceFinding(.judgesEachRow, "The refusal of \(key) contains the row \(other).")
            }
        }
    }

    private func fits(_ patch: RowPatch, _ key: ConformanceKey) -> Bool {
        guard let row = rows[key]?.row, row.isAlive else { return false }
        return difference(.row(patch), row, key.table) == nil
    }

    private func checkGroups(_ verdicts: [RemotePush.Verdict], of drawn: [DrawnRow], _ groups: [Range<Int>]) throws {
        for group in groups where verdicts[group].contains(where: { $0.isRefusal || $0.isGroupFailure }) {
            guard let index = group.first(where: { verdicts[$0].isApplied }) else { continue }
            throw ConformanceFinding(
                .keepsGroupsWhole, "It accepted \(drawn[index].key) but refused another row of the same group.")
        }
        let grouped = Set(groups.flatMap { group in verdicts[group].contains(where: \.isRefusal) ? Array(group) : [] })
        if let index = verdicts.indices.first(where: { verdicts[$0].isGroupFailure && !grouped.contains($0) }) {
            throw ConformanceFinding(
                .keepsGroupsWhole,
                "It did not apply \(drawn[index].key) because of its group, but refused none of the group's rows.")
        }
    }

    private mutating func take(_ verdict: RemotePush.Verdict, of drawn: DrawnRow, by device: Int, isRepeat: Bool) throws
    {
        let key = drawn.key
        let incoming = incoming(drawn)
        var after = rows[key] ?? Expected()
        let outcome = after.row.merge(incoming)
        switch verdict {
        // A backend without clocks may repeat its first answer to a repeated push.
        case .accepted where merging == .byTransaction && isRepeat: break
        case .accepted: try checkAccepted(drawn.row, after.row, incoming, outcome)
        case .merged(_, let patch):
            if let finding = sentClocks(patch, of: key) { throw finding }
            try takeMerged(patch, drawn, &after.row, incoming, outcome)
        case .gone:
            if after.row.isAlive, after.row.generation <= incoming.generation {
                throw ConformanceFinding(
                    .judgesEachRow, "It reports that \(key) was deleted, but no device deleted it.")
            }
        case .rejected(let refusal):
            try check(refusal, of: key)
            if rows[key] == nil { refused.insert(key) }
            return
        case .groupFailed:
            if rows[key] == nil { refused.insert(key) }
            return
        case .retry, .lifeUnknown, .blocked, .leaves, .mergedInto:
            throw ConformanceFinding(
                .judgesEachRow, "It answered \(verdict.name) for \(key), which it could have applied.")
        }
        if outcome.changedAnything { after.lastWriter = device }
        after.wasRepeated = after.wasRepeated || isRepeat
        rows[key] = after
        refused.remove(key)
    }

    private func checkAccepted(
        _ pushed: RemotePush.Row, _ after: MergeRow, _ incoming: MergeRow, _ outcome: MergeRow.Outcome
    ) throws {
        if case .delete = pushed.change { return }
        let name = "\(pushed.table):\(pushed.id)"
        if after.generation > incoming.generation {
            throw ConformanceFinding(.judgesEachRow, "It accepted an edit of \(name) to a life that had ended.")
        }
        if let column = outcome.refused.subtracting(incoming.counters.keys).min() {
            throw ConformanceFinding(
                .judgesEachRow, "It accepted \(name) as sent, although \(column) has a later value.")
        }
    }

    /// The remote may also have changed a value, which then has the latest clock.
    private func takeMerged(
        _ patch: RowPatch, _ drawn: DrawnRow, _ after: inout MergeRow, _ incoming: MergeRow,
        _ outcome: MergeRow.Outcome
    ) throws {
        let key = drawn.key
        let life = patch.generation ?? incoming.generation
        guard life == after.generation else {
            throw ConformanceFinding(
                .judgesEachRow, "It reports that \(key) is in life \(life), but it is in life \(after.generation).")
        }
        for (column, value) in patch.values where counters[key.table]?.contains(column) != true {
            let expected = after.cells[column]
            if value == expected?.value ?? .null { continue }
            guard let clock = merging == .byClock ? patch.clocks?[column] : self.clock(drawn, isChangedByRemote: true),
                expected.map({ clock > $0.clock }) ?? true
            else {
                throw ConformanceFinding(
                    .judgesEachRow,
                    "It reports that \(value) won in \(column) of \(key), but \(expected?.value ?? .null) must win.")
            }
            after.cells[column] = Cell(value, clock)
        }
        let untold = outcome.refused.subtracting(incoming.counters.keys).filter { patch.values[$0] == nil }
        if life == incoming.generation, let column = untold.min() {
            throw ConformanceFinding(.judgesEachRow, "It does not report which value won in \(column) of \(key).")
        }
    }

    private func check(_ refusal: RemotePush.Refusal, of key: ConformanceKey) throws {
        guard let row = rows[key]?.row, row.isAlive else { return }
        guard let current = refusal.current else {
            throw ConformanceFinding(.refusalsHaveTheRow, "It refused an update of \(key) without sending its own row.")
        }
        if let difference = difference(.row(current), row, key.table) {
            throw ConformanceFinding(
                .refusalsHaveTheRow, "It refused an update of \(key) and sent a different row: \(difference.what)")
        }
    }

    // MARK: - Rows

    /// Checks a row that a reader should have. Returns the promise that the remote broke, or nil.
    func problem(at key: ConformanceKey, in reading: PageReading) -> ConformanceFinding? {
        let content = reading.rows[key]
        guard let row = rows[key] else {
            return refused.contains(key)
                ? ConformanceFinding(.refusalsChangeNothing, "A page delivers \(key), which was refused.")
                : ConformanceFinding(.answers, "A page delivers \(key), which no device has pushed.")
        }
        guard let content else {
            if !row.row.isAlive { return nil }
            return ConformanceFinding(.keepsRows, "No page delivered \(key), which was accepted.")
        }
        if case .row(let patch) = content, let finding = sentClocks(patch, of: key) { return finding }
        guard let difference = difference(content, row.row, key.table) else { return nil }
        let repeated = row.wasRepeated ? " A push of the row was repeated." : ""
        return ConformanceFinding(difference.promise, "\(key): \(difference.what)\(repeated)")
    }

    /// Returns the difference from the expected row, if any.
    func difference(_ content: RemotePage.Row.Content, _ row: MergeRow, _ table: String) -> ConformanceFinding? {
        switch content {
        case .deleted(let tombstone):
            return tombstone.generation == row.generation
                ? nil
                : ConformanceFinding(
                    mergePromise, "it is deleted (\(tombstone.generation)) but should be in life \(row.generation).")
        case .row(let patch):
            let life = patch.generation ?? 1
            guard life == row.generation else {
                return ConformanceFinding(
                    mergePromise, "it is in life \(life) but should be in life \(row.generation).")
            }
            for (column, cell) in row.cells.sorted(by: { $0.key < $1.key }) {
                if patch.values[column] == nil, !cell.value.isNull {
                    return ConformanceFinding(.sendsWholeRows, "column \(column) is missing.")
                }
                let value = patch.values[column] ?? .null
                if value != cell.value {
                    return ConformanceFinding(mergePromise, "\(column) is \(value) but should be \(cell.value).")
                }
            }
            for column in row.counters.keys.sorted() {
                let (sum, sent) = (row.sum(of: column), patch.values[column]?.int)
                if sent != sum {
                    return ConformanceFinding(.countsOnce, "\(column) is \(sent ?? 0) but should be \(sum).")
                }
            }
            return nil
        }
    }
}

extension RemotePush.Verdict {
    var isMerge: Bool { if case .merged = self { true } else { false } }
    var isRefusal: Bool { if case .rejected = self { true } else { false } }
    var isGroupFailure: Bool { if case .groupFailed = self { true } else { false } }
    var isApplied: Bool {
        switch self {
        case .accepted, .merged, .mergedInto: true
        default: false
        }
    }

    var name: String {
        switch self {
        case .accepted: "accepted"
        case .merged: "merged"
        case .mergedInto(_, let winner): "mergedInto \(winner)"
        case .gone: "gone"
        case .rejected(let refusal): "rejected (\(refusal.code): \(refusal.message))"
        case .retry(_, let reason): "retry (\(reason?.code ?? "no reason"))"
        case .lifeUnknown: "lifeUnknown"
        case .blocked(let by): "blocked by \(by)"
        case .leaves(let rows): "leaves \(rows.joined(separator: ", "))"
        case .groupFailed: "groupFailed"
        }
    }
}
