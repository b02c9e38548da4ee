// This source file is part of the Optimist open source project, under the MIT licence.

import OptimistWire

/// Tables in which an edit brings a deleted row back, if it is later than the deletion (`SyncRules.editWins`, M2).
///
/// The server decides: it revives the row in the next life but one, with the columns of the life that had ended. Until
/// it says so, a device keeps a row whose edit is later than the deletion that it received, and sends the edit as it
/// is.
extension RowEntry {
    /// Whether a received deletion leaves the row, since an edit is later that is unsent, or that the server has lost.
    func outlives(_ tombstone: Tombstone, device: String, in layout: TableLayout) -> Bool {
        guard layout.rules.editWins, isAlive, tombstone.generation == generation + 1 else { return false }
        // The server has not said when the row was deleted: the answer to the edit does.
        guard let deletion = tombstone.clock else {
            return tombstone.mergedInto == nil && dirty & ~TableLayout.lifeMask != 0
        }
        if layout.columns(in: dirty).contains(where: { unsentClock(of: $0, device) > deletion }) { return true }
        guard heals else { return false }
        let counted = counters.values.flatMap(\.pushed)
        return layout.columns.contains { confirmedClock(of: $0).map { $0 > deletion } ?? false }
            || counted.contains { $0.clock > deletion }
    }

    /// Whether an edit has let the row outlive a deletion that the server has told. It may have forgotten what was deleted, and
    /// needs the whole row then to bring that back.
    var hasOutlivedItsEnd: Bool { isAlive && acked > generation && acked % 2 == 0 }

    /// Whether nothing is left of the edit that has let the row outlive its end.
    var isOver: Bool { hasOutlivedItsEnd && dirty == 0 && !isHealing }

    /// Whether nothing would be left of it if a column were taken back.
    func isOver(without column: TableLayout.Column, in layout: TableLayout) -> Bool {
        var without = self
        without.clear(column.mask, in: layout)
        return without.isOver
    }

    /// Whether the server knows only that another device has deleted this life: it needs the whole row to bring that
    /// back.
    var wasDeletedUnseen: Bool { hasOutlivedItsEnd && dirty & TableLayout.lifeMask != 0 }

    /// Whether a later life of the server's takes over what is unsent, rather than end it.
    func survives(into life: Int, in layout: TableLayout) -> Bool {
        layout.rules.editWins && isAlive && life == generation + 2 && dirty & ~TableLayout.lifeMask != 0
    }

    /// Enters the life that an edit brought back. An unsent column that is later than the server's stays, and stays
    /// unsent.
    mutating func rejoin(
        _ life: Int, _ patch: RowPatch, device: String, in layout: TableLayout,
        quote: (TableLayout.Column, JSON) throws -> String
    ) rethrows -> Reception {
        let former = self
        var reception = begin(life, patch, in: layout)
        guard case .put(var values) = reception.change else { return reception }
        for column in layout.columns(in: former.dirty) {
            let mine = former.unsentClock(of: column, device)
            // A counter's clock tells when others counted. A total is lost only to a life that is later in all.
            let clock = column.isCounter ? earliestClock(of: patch, in: layout) : patch.clocks?[column.name]
            let theirs = patch.values[column.name] == nil ? nil : clock
            if let theirs, theirs >= mine {
                // It is the very value that was sent: nothing was lost.
                if theirs == mine { reception.lost &= ~column.mask }
                continue
            }
            reception.lost &= ~column.mask
            dirty |= column.mask
            stamps[column.name] = former.stamps[column.name]
            if column.isCounter {
                counters[column.bit] = former.counters[column.bit]?.goingOn(with: patch.mine[column.name] ?? [:])
                values[column.name] = takeCounter(column, from: patch, seq: patch.seq, isDirty: true)
            } else {
                reception.kept |= column.mask
                base[column.name] = try quote(column, patch.values[column.name] ?? .null)
            }
        }
        if dirty != 0 {
            pending = former.pending
            stamp = former.stamp
            sent = former.sent & dirty
        }
        reception.change = .put(values)
        return reception
    }

    /// The life that the user edited has ended on the server, and the edit was refused: the row becomes what the server
    /// has.
    mutating func undoRevival(_ life: Int, _ sentRow: SentRow, _ refusal: Refusal, in layout: TableLayout)
        -> Settlement
    {
        let rejected = sentRow.kept(against: refusal.current)
        let reception = refusal.current.map { begin(life, $0, in: layout) } ?? end(life, clock: nil)
        return Settlement(change: reception.change, rejected: rejected, lost: reception.lost & ~sentRow.mask)
    }

    /// The earliest clock of a row's columns.
    private func earliestClock(of patch: RowPatch, in layout: TableLayout) -> Clock? {
        layout.columns.filter { !$0.isCounter && patch.values[$0.name] != nil }
            .compactMap { patch.clocks?[$0.name] }.min()
    }

    /// The clock of a deletion that the device will send: the deletion's own, if the server has lost it, or that of the
    /// user's deletion if it is later. Nil: the server has not said when it was.
    func deletionClock(_ device: String) -> Clock? {
        if isHealing, dirty & TableLayout.lifeMask == 0 { return confirmed.common }
        let mine = Clock(stamp: lifeStamp, device: device)
        return heals ? confirmed.common.map { max($0, mine) } ?? mine : mine
    }

    func unsentClock(of column: TableLayout.Column, _ device: String) -> Clock {
        Clock(stamp: unsentStamp(of: column.name), device: device)
    }
}
