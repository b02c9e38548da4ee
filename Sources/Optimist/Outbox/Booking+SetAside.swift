// This source file is part of the Optimist open source project, under the MIT licence.

import GRDB
import OptimistWire

/// Answers that cannot be made yet in the app's tables. One row never fails a booking (S8).
extension Booking {
    /// The row is gone, but cannot go yet. Either the app's constraints stand against that, or the rows that would go
    /// with it may have another owner by now, as pages will tell. Until then the row stays, without its unsent edits.
    func setAsideDeletion(
        _ verdict: Verdict, _ entry: RowEntry, _ before: RowEntry, reason: String?
    ) throws -> RowEntry {
        var tombstone = Tombstone(generation: entry.generation, clock: entry.confirmed.common, seq: entry.seq)
        if case .mergedInto(_, let winner) = verdict { tombstone.mergedInto = winner }
        try park(.deleted(tombstone), of: entry, reason: reason)
        var waiting = try withoutUnsent(before)
        waiting.settled = entry.settled
        if let table = tables[before.ref.table] {
            waiting.confirmEndedLife(of: before, device: batch.push.device, until: entry.seq, in: table.layout)
        }
        waiting.acked = max(before.acked, before.generation)
        return waiting
    }

    /// A row as the server has it, in the app's table too if the app's constraints allow that.
    private func withoutUnsent(_ before: RowEntry) throws -> RowEntry {
        var (entry, clean) = (before, before)
        clean.becomeClean()
        guard before.isKnownToServer, !before.heals, let table = tables[before.ref.table],
            let values = try table.values(before.ref.id),
            let taken = entry.takeBack(values, current: nil, in: table.layout), taken.change != .delete
        else { return clean }
        return try db.keepingWhatFits { try table.make(taken.change, at: before.ref.id) } ? entry : clean
    }

    /// The app's own constraints stand against what the server says: its values are parked, and a row that cannot be taken
    /// back stays pending, and is held.
    func setAside(_ change: RowChange, _ settled: RowEntry, _ before: RowEntry, reason: String?) throws -> RowEntry {
        switch change {
        case .put(let values), .set(let values):
            guard let table = tables[settled.ref.table] else { return settled }
            var isWhole = false
            if case .put = change { isWhole = true }
            return try park(values, isWhole: isWhole, settled, in: table, reason: reason)
        case .none, .delete:
            var held = before
            held.due = corrected + Self.heldMilliseconds
            return held
        }
    }

    private func park(
        _ values: JSONObject, isWhole: Bool, _ settled: RowEntry, in table: AppTable, reason: String?
    ) throws -> RowEntry {
        var parked = settled
        let patch: RowPatch
        if !isWhole, case .row(let waiting)? = try ParkedRows(db).content(settled.ref), waiting.seq != nil,
            waiting.generation ?? 1 == settled.generation
        {
            // The table has less of the row than what waits already.
            patch = waiting.taking(parked.withdraw(values, isWhole: false, in: table.layout), in: table.layout)
        } else if let whole = try isWhole ? values : served(values, settled, in: table) {
            patch = parked.withdraw(whole, isWhole: true, in: table.layout)
        } else {
            patch = parked.withdraw(values, isWhole: false, in: table.layout)
        }
        try park(.row(patch), of: settled, reason: reason)
        return parked
    }

    /// Parks what an answer says, unless a page has brought something later that waits.
    private func park(_ content: PageRow.Content, of settled: RowEntry, reason: String?) throws {
        let parked = ParkedRows(db)
        if let waiting = try parked.content(settled.ref), waiting.version > (settled.generation, settled.seq) { return }
        try parked.park(ReceivedRow(ref: settled.ref, content: content), reason: reason, awaiting: nil)
    }

    /// The whole row as the server has it, when an answer sets some of its values. The deletions of this booking may
    /// take the row with them before those values fit.
    private func served(_ values: JSONObject, _ settled: RowEntry, in table: AppTable) throws -> JSONObject? {
        guard let present = try table.values(settled.ref.id) else { return nil }
        var whole = settled.served(present, in: table.layout)
        whole.replace(with: values)
        return whole
    }
}

extension RowPatch {
    /// The row with what a later answer sets of it.
    func taking(_ answer: RowPatch, in layout: TableLayout) -> RowPatch {
        var patch = self
        for (name, value) in answer.values {
            if layout[column: name]?.isCounter != true, let theirs = answer.clocks?[name] {
                if values[name] != nil, let mine = clocks?[name], mine > theirs { continue }
                patch.clocks?.exceptions[name] = theirs
            }
            patch.values[name] = value
            patch.mine[name] = answer.mine[name]
        }
        return patch
    }
}
