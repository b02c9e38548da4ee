// This source file is part of the Optimist open source project, under the MIT licence.

import OptimistWire

/// Edits that revive a row because they are later than its deletion (`SyncRules.editWins`, M2).
///
/// The server decides. It revives the row two generations later, with the columns of the ended life. Until the server
/// has decided, a device keeps a deleted row if the device's edit is later than the deletion, and sends that edit
/// unchanged.
extension RowEntry {
    /// Whether the row survives a received deletion, because of a later edit that is unsent or that the server lost.
    func outlives(_ tombstone: Tombstone, device: String, in layout: TableLayout) -> Bool {
        guard layout.rules.editWins, isAlive, tombstone.generation == generation + 1 else { return false }
        // Without the deletion's clock, the server decides when it answers the edit.
        guard let deletion = tombstone.clock else {
            return tombstone.mergedInto == nil && edited(in: layout) != 0
        }
        return layout.columns(in: dirty).contains { unsentClock(of: $0.name).clock(device) > deletion }
    }

    /// Whether an edit keeps the row alive after a deletion that the server reported.
    var hasOutlivedItsEnd: Bool { isAlive && remote.generation > generation && remote.generation % 2 == 0 }

    var isOver: Bool { hasOutlivedItsEnd && dirty == 0 }

    func isOver(without column: TableLayout.Column, in layout: TableLayout) -> Bool {
        var without = self
        without.clear(column.mask, in: layout)
        return without.isOver
    }

    /// Whether the server knows this life only from another device's deletion, and therefore needs the full row.
    var wasDeletedUnseen: Bool { hasOutlivedItsEnd && dirty & TableLayout.lifeMask != 0 }

    /// Whether unsent edits continue in a later life. If the server lost the row, the edits may be from any earlier
    /// life.
    func survives(into life: Int, in layout: TableLayout) -> Bool {
        layout.rules.editWins && isAlive && dirty & ~TableLayout.lifeMask != 0
            && (life == generation + 2 || (isRestored && life > generation))
    }

    /// Continues the row in its revived life. Unsent columns that are later than the server's stay unsent.
    mutating func rejoin(_ life: Int, _ patch: RowPatch, device: String, in layout: TableLayout) -> News {
        guard let former = local else { return begin(life, patch, in: layout) }
        let (counters, told) = (counters, remote)
        var news = begin(life, patch, in: layout)
        local = former.continued
        for column in layout.columns(in: former.dirty) {
            let mine = former.clock(of: column.name).clock(device)
            // A counter's clock is the clock of other devices' last count, so a total is lost only if every column of
            // the new life is later.
            let clock = column.isCounter ? earliestClock(of: patch, in: layout) : patch.clocks?[column.name]
            let theirs = patch.values[column.name] == nil ? nil : clock
            if let theirs, theirs >= mine {
                // The server has exactly the sent value.
                if theirs == mine { news.settled |= column.mask }
                continue
            }
            local?.continue(column, of: former)
            if column.isCounter {
                self.counters[column.bit] = counters[column.bit]?.goingOn(with: patch.mine[column.name] ?? [:])
                news.values[column.name] = takeCounter(column, from: patch, seq: patch.seq, isDirty: true)
            } else {
                cover(column, patch.values[column.name] ?? .null, since: told, device: device)
            }
        }
        if dirty == 0 { becomeClean() }
        return news
    }

    mutating func undoRevival(_ life: Int, _ refusal: RemotePush.Refusal, in layout: TableLayout) -> News {
        if let current = refusal.current { return begin(life, current, in: layout) }
        end(life, clock: nil)
        return News()
    }

    private func earliestClock(of patch: RowPatch, in layout: TableLayout) -> WriteClock? {
        layout.columns.filter { !$0.isCounter && patch.values[$0.name] != nil }
            .compactMap { patch.clocks?[$0.name] }.min()
    }

    /// The clock to send with a deletion: the original clock if the server lost the deletion. Nil if unknown.
    func deletionClock(_ device: String) -> WriteClock? {
        let clock = local?.lifeClock.clock(device)
        return clock == RemoteRow.noClock ? nil : clock
    }
}
