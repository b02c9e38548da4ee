// This source file is part of the Optimist open source project, under the MIT licence.

import GRDB
import OptimistWire

/// Sets aside answers that the app's tables cannot take yet. One row never makes all results fail (S8).
extension PushResults {
    /// Sets aside the deletion of a row that the server has deleted but that cannot be deleted here yet. Either the app's
    /// constraints forbid it, or the rows below it may have another owner by now, as later pages will show. Until then the row
    /// stays, without its unsent edits.
    func setAsideDeletion(
        _ verdict: RemotePush.Verdict, _ entry: RowEntry, _ before: RowEntry, reason: ParkedReason
    ) throws -> RowEntry {
        var tombstone = Tombstone(
            generation: entry.generation, clock: entry.remote.clocks.common, seq: entry.remote.seq)
        if case .mergedInto(_, let winner) = verdict { tombstone.mergedInto = winner }
        try park(.deleted(tombstone), of: entry, reason: reason)
        var waiting = try withoutUnsent(before)
        waiting.remote.answer(entry.remote.lastAnsweredPush)
        if let table = tables[before.ref.table] {
            waiting.confirmEndedLife(of: before, device: batch.push.device, until: entry.remote.seq, in: table.layout)
        }
        waiting.remote.goBack(to: before.generation)
        return waiting
    }

    /// Returns the entry without its unsent edits. The app's table gets the server's values too, if the app's constraints allow
    /// that.
    private func withoutUnsent(_ before: RowEntry) throws -> RowEntry {
        var (entry, clean) = (before, before)
        clean.becomeClean()
        guard before.wasOnServer, let table = tables[before.ref.table], let values = try table.values(before.ref.id),
            let taken = entry.takeBack(values, current: nil, in: table.layout), taken.rendering.change != .delete
        else { return clean }
        if try !db.keepingWhatFits({ try table.make(taken.rendering.change, at: before.ref.id) }) {
            // The table keeps the user's values, so it does not have the server's.
            clean.remote.withdraw(before.dirty)
            return clean
        }
        // What the server had lost and has deleted now is no longer sent.
        entry.becomeClean()
        return entry
    }

    /// Sets aside an answer that the app's own constraints forbid. The server's values are parked. A row that cannot be taken
    /// back stays pending and is held.
    func setAside(_ change: RowChange, _ settled: RowEntry, _ before: RowEntry, reason: ParkedReason) throws -> RowEntry
    {
        switch change {
        case .put(let values), .set(let values):
            guard let table = tables[settled.ref.table] else { return settled }
            var isWhole = false
            if case .put = change { isWhole = true }
            return try park(values, isWhole: isWhole, settled, in: table, reason: reason)
        case .none, .delete:
            var held = before
            held.local?.wait(until: corrected + Self.heldMilliseconds)
            return held
        }
    }

    private func park(
        _ values: JSONObject, isWhole: Bool, _ settled: RowEntry, in table: AppTable, reason: ParkedReason
    ) throws -> RowEntry {
        var parked = settled
        let patch: RowPatch
        if !isWhole, case .row(let waiting)? = try ParkedRows(db).content(settled.ref), waiting.seq != nil,
            waiting.generation ?? 1 == settled.generation
        {
            // The parked version of the row is more complete than the app's table.
            patch = waiting.taking(parked.withdraw(values, isWhole: false, in: table.layout), in: table.layout)
        } else if let whole = try isWhole ? values : served(values, settled, in: table) {
            patch = parked.withdraw(whole, isWhole: true, in: table.layout)
        } else {
            patch = parked.withdraw(values, isWhole: false, in: table.layout)
        }
        try park(.row(patch), of: settled, reason: reason)
        return parked
    }

    /// Parks an answer, unless a later version from a page is already parked.
    private func park(_ content: RemotePage.Row.Content, of settled: RowEntry, reason: ParkedReason) throws {
        let parked = ParkedRows(db)
        if let waiting = try parked.content(settled.ref), waiting.version > (settled.generation, settled.remote.seq) {
            return
        }
        try parked.park(ReceivedRow(ref: settled.ref, content: content), reason: reason, awaiting: nil)
    }

    /// Returns the whole row as the server has it, when an answer sets some of its values. The deletions among these results
    /// may remove the row from the table before those values fit.
    private func served(_ values: JSONObject, _ settled: RowEntry, in table: AppTable) throws -> JSONObject? {
        guard let present = try table.values(settled.ref.id) else { return nil }
        var whole = settled.served(present, in: table.layout)
        whole.replace(with: values)
        return whole
    }
}

extension RowPatch {
    /// Returns the row with the values that a later answer sets.
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
