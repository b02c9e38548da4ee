// This source file is part of the Optimist open source project, under the MIT licence.

import GRDB
import OptimistWire

/// Parks results that the app's tables cannot take yet, so that one row never makes a push's other results fail (S8).
extension Door {
    /// Parks the server's version of a row, because of a constraint or because its deletion is too early. The app's
    /// table does not count as having that version.
    ///
    /// - Parameter device: This device's id in the unsent edits.
    mutating func setAside(_ passage: Passage, _ reason: ParkedReason, device: String) throws -> RowEntry {
        guard let table = tables[passage.ref.table] else { return passage.before }
        try record(Journal.Loss(passage.rendering, of: passage.before, in: table), passage)
        var aside = passage
        switch passage.rendering.change {
        case .put(let values): aside.entry = try park(values, isWhole: true, passage.entry, in: table, reason)
        case .set(let values): aside.entry = try park(values, isWhole: false, passage.entry, in: table, reason)
        case .delete: aside.entry = try parkDeletion(passage, in: table, reason, device: device)
        case .none: break
        }
        try entries.save(aside.entry)
        try noteUnknown(aside, in: table)
        return aside.entry
    }

    // MARK: - Values

    private func park(
        _ values: JSONObject, isWhole: Bool, _ settled: RowEntry, in table: AppTable, _ reason: ParkedReason
    ) throws -> RowEntry {
        var parked = settled
        let patch: RowPatch
        if !isWhole, case .row(let waiting)? = try ParkedRows(db).content(of: settled), waiting.seq != nil,
            waiting.generation ?? 1 == settled.generation
        {
            // The parked version is more complete than the app's table.
            patch = waiting.taking(parked.withdraw(values, isWhole: false, in: table.layout), in: table.layout)
        } else if let whole = try isWhole ? values : served(values, settled, in: table) {
            patch = parked.withdraw(whole, isWhole: true, in: table.layout)
        } else {
            patch = parked.withdraw(values, isWhole: false, in: table.layout)
        }
        try park(.row(patch), of: settled, reason)
        return parked
    }

    /// If a later version from a page is already parked, that version stays parked.
    private func park(_ content: RemotePage.Row.Content, of settled: RowEntry, _ reason: ParkedReason) throws {
        let parked = ParkedRows(db)
        if let waiting = try parked.content(of: settled), waiting.version > (settled.generation, settled.remote.seq) {
            return
        }
        try parked.park(
            ReceivedRow(ref: settled.ref, scope: settled.remote.scope, content: content), reason: reason, awaiting: nil)
    }

    /// The server's full row, in case a deletion in the same answer removes the row before these values fit.
    private func served(_ values: JSONObject, _ settled: RowEntry, in table: AppTable) throws -> JSONObject? {
        guard let present = try table.values(settled.ref.id) else { return nil }
        var whole = settled.served(present, in: table.layout)
        whole.replace(with: values)
        return whole
    }

    // MARK: - Deletions

    /// Parks a deletion. Until it is applied, the table shows the row without its unsent edits.
    private mutating func parkDeletion(
        _ passage: Passage, in table: AppTable, _ reason: ParkedReason, device: String
    ) throws -> RowEntry {
        let (entry, before) = (passage.entry, passage.before)
        var tombstone = Tombstone(
            generation: entry.generation, clock: entry.remote.clocks.common, seq: entry.remote.seq)
        if case .united(let winner) = passage.deletion { tombstone.mergedInto = table.layout.idForm.wire(winner) }
        try park(.deleted(tombstone), of: entry, reason)
        var waiting = try withoutUnsent(before, in: table)
        waiting.remote.answer(entry.remote.lastAnsweredPush)
        waiting.confirmEndedLife(of: before, device: device, until: entry.remote.seq, in: table.layout)
        waiting.remote.goBack(to: before.generation)
        return waiting
    }

    /// The entry without its unsent edits. The app's table gets the server's values if its constraints allow that.
    private mutating func withoutUnsent(_ before: RowEntry, in table: AppTable) throws -> RowEntry {
        var (entry, clean) = (before, before)
        clean.becomeClean()
        guard before.wasOnServer, let values = try table.values(before.ref.id),
            let taken = entry.takeBack(values, current: nil, in: table.layout), taken.rendering.change != .delete
        else { return clean }
        entry.becomeClean()
        let passage = Passage(before: before, entry: entry, rendering: taken.rendering)
        if try attempt(deferring: true, { try $0.make(passage, in: table) }) == nil { return entry }
        // The table keeps the user's values.
        clean.remote.withdraw(before.dirty)
        return clean
    }
}

extension RowPatch {
    /// The row with the values of a later answer.
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
