// This source file is part of the Optimist open source project, under the MIT licence.

import GRDB
import OptimistWire

/// Rejects a row and the pending rows that refer to it as one rejection (V5), and restores the server's versions.
extension PushResults {
    mutating func reject(_ index: Int, _ refusal: RemotePush.Refusal) throws {
        let sent = batch.sent[index]
        guard let (passage, outcome) = try settle(sent, verdicts[index]) else { return }
        guard let mine = outcome.rejected else {
            try pass(passage)
            return
        }
        let culprit = TakenBack(passage, kind: sent.kind, mine: mine)
        let number = try RejectionTable(door.db).insert(
            sent.ref, sent.kind, refusal, mine: mine, server: refusal.current?.values, at: door.milliseconds)
        let others = try companions(of: culprit, at: index)
        for other in others {
            try RejectionTable(door.db).insert(
                other.entry.ref, other.kind, refusal, mine: other.mine, server: other.server, at: door.milliseconds,
                bundle: number)
        }
        for (row, _) in try door.takeBack([culprit] + others, device: batch.push.device) { try hold(row.before) }
    }

    /// Holds a row that cannot be taken back. It stays pending.
    private mutating func hold(_ entry: RowEntry) throws {
        var held = entry
        held.local?.wait(until: corrected + Self.heldMilliseconds)
        try door.entries.save(held)
    }

    // MARK: - Rows taken back with a refused row

    private func companions(of culprit: TakenBack, at index: Int) throws -> [TakenBack] {
        let group = batch.push.groups.first { $0.contains(index) }
        if let group, try isWhole(group) { return try group.filter { $0 != index }.compactMap { try undone(at: $0) } }
        let unit = group ?? index..<index + 1
        switch (culprit.kind, culprit.change) {
        case (.create, .delete), (.move, .delete):
            let others = try dependents(of: culprit.entry.ref)
            return try others + formerOwners(of: others, in: unit)
        case (.update, .set), (.move, .set): return try formerOwners(of: [culprit], in: unit)
        case (.delete, .put): return try formerDependents(of: index, in: unit)
        case (.create, .put) where !culprit.before.wasOnServer: return try formerDependents(of: index, in: unit)
        default: return []
        }
    }

    /// Whether the app wrote some of these rows with `allOrNothing`.
    private func isWhole(_ group: Range<Int>) throws -> Bool {
        try GroupJoins(door.db).isWhole(
            batch.sent[group].compactMap { try door.entries.entry($0.ref)?.local?.group.rawValue })
    }

    /// The pending rows that refer to a row, or to rows removed with it.
    private func dependents(of ref: RowRef) throws -> [TakenBack] {
        var found: [TakenBack] = []
        var met: Set<RowRef> = [ref]
        var next = [ref]
        while let parent = next.popLast() {
            for child in try door.tables.children(of: parent, door.references) {
                // A row that the server lost is also removed, unless only an edit makes it refer to its parent.
                guard met.insert(child.ref).inserted, let entry = try door.entries.entry(child.ref), entry.isPending,
                    let undone = try TakenBack(
                        entry, current: current(of: child.ref), isLost: !entry.isEdited(child.referrer.column), in: door
                    )
                else { continue }
                found.append(undone)
                if undone.change == .delete { next.append(child.ref) }
            }
        }
        return found
    }

    /// The owners that the group deleted after moving these rows away from them, and the rows deleted with the owners.
    /// The deletions must be undone with the moves, or the server would delete the moved rows.
    private func formerOwners(of rows: [TakenBack], in group: Range<Int>) throws -> [TakenBack] {
        var found: [TakenBack] = []
        var met: Set<Int> = []
        var next = rows
        while let row = next.popLast() {
            guard let table = door.tables[row.entry.ref.table], let restored = row.restored else { continue }
            let owners = Set(door.tables.owners(by: restored, in: table))
            for index in group where owners.contains(batch.sent[index].ref) && batch.sent[index].kind == .delete {
                guard met.insert(index).inserted, try isAsSent(index), let owner = try undone(at: index),
                    owner.restored != nil
                else {
                    continue
                }
                let below = try formerDependents(of: index, in: group, besides: &met)
                found += [owner] + below
                next += [owner] + below
            }
        }
        return found
    }

    private func isAsSent(_ index: Int) throws -> Bool {
        try door.entries.entry(batch.sent[index].ref)?.generation == batch.sent[index].generation
    }

    /// The rows that were deleted because they referred to a row that stays after all.
    private func formerDependents(of index: Int, in group: Range<Int>) throws -> [TakenBack] {
        var met: Set<Int> = [index]
        return try formerDependents(of: index, in: group, besides: &met)
    }

    private func formerDependents(of index: Int, in group: Range<Int>, besides met: inout Set<Int>) throws
        -> [TakenBack]
    {
        var found: [TakenBack] = []
        var next = [index]
        while let parent = next.popLast() {
            let row = batch.push.rows[parent]
            for other in group where !met.contains(other) {
                guard batch.sent[other].kind == .delete, case .groupFailed(_, let current?) = verdicts[other],
                    let table = door.tables[batch.sent[other].ref.table],
                    table.layout.columns.contains(where: {
                        $0.reference?.table == row.table && current.values[$0.name]?.string == row.id
                    }), let undone = try undone(at: other)
                else { continue }
                met.insert(other)
                found.append(undone)
                next.append(other)
            }
        }
        return found
    }

    private func undone(at index: Int) throws -> TakenBack? {
        guard let entry = try door.entries.entry(batch.sent[index].ref), entry.isPending else { return nil }
        return try TakenBack(entry, current: verdicts[index].current, in: door)
    }

    /// The server's row, if this push's answer reports it.
    private func current(of ref: RowRef) -> RowPatch? {
        batch.sent.firstIndex { $0.ref == ref }.flatMap { verdicts[$0].current }
    }
}
