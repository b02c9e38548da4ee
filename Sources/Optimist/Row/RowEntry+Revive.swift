// This source file is part of the Optimist open source project, under the MIT licence.

import OptimistWire

/// Tables in which an edit brings a deleted row back, if the edit is later than the deletion (`SyncRules.editWins`,
/// M2).
///
/// The server decides. It revives the row two generations later, with the columns of the life that had ended. Until the
/// server says so, a device that has received the deletion keeps a row with a later edit, and sends the edit as it is.
extension RowEntry {
    /// Whether the row stays in spite of a received deletion, because the device has a later edit that is unsent or
    /// that the server has lost.
    func outlives(_ tombstone: Tombstone, device: String, in layout: TableLayout) -> Bool {
        guard layout.rules.editWins, isAlive, tombstone.generation == generation + 1 else { return false }
        // The server has not said when the row was deleted. Its answer to the edit will.
        guard let deletion = tombstone.clock else {
            return tombstone.mergedInto == nil && edited(in: layout) != 0
        }
        return layout.columns(in: dirty).contains { unsentClock(of: $0.name).clock(device) > deletion }
    }

    /// Whether the row has outlived a deletion that the server has told, because of an edit. The server may have
    /// forgotten the deleted values, and then needs the whole row to bring it back.
    var hasOutlivedItsEnd: Bool { isAlive && remote.generation > generation && remote.generation % 2 == 0 }

    /// Whether the row has outlived its end, and nothing is left of the edit that let it.
    var isOver: Bool { hasOutlivedItsEnd && dirty == 0 }

    /// Whether the row would be over if the edit of a column were taken back.
    func isOver(without column: TableLayout.Column, in layout: TableLayout) -> Bool {
        var without = self
        without.clear(column.mask, in: layout)
        return without.isOver
    }

    /// Whether the server knows of this life only that another device has deleted it. The server then needs the whole
    /// row to bring it back.
    var wasDeletedUnseen: Bool { hasOutlivedItsEnd && dirty & TableLayout.lifeMask != 0 }

    /// Whether unsent edits continue in a later life of the server's, and do not end with the present one. If the
    /// server has lost the row, they may be of any earlier life.
    func survives(into life: Int, in layout: TableLayout) -> Bool {
        layout.rules.editWins && isAlive && dirty & ~TableLayout.lifeMask != 0
            && (life == generation + 2 || (isRestored && life > generation))
    }

    /// Enters the life in which an edit brought the row back. An unsent column stays as it is, and stays unsent, if it
    /// is later than the server's.
    mutating func rejoin(_ life: Int, _ patch: RowPatch, device: String, in layout: TableLayout) -> News {
        guard let former = local else { return begin(life, patch, in: layout) }
        let (counters, told) = (counters, remote)
        var news = begin(life, patch, in: layout)
        local = former.continued
        for column in layout.columns(in: former.dirty) {
            let mine = former.clock(of: column.name).clock(device)
            // A counter's clock tells when other devices counted. So a total is lost only if every column of the new
            // life is later.
            let clock = column.isCounter ? earliestClock(of: patch, in: layout) : patch.clocks?[column.name]
            let theirs = patch.values[column.name] == nil ? nil : clock
            if let theirs, theirs >= mine {
                // The server has exactly the value that was sent, so nothing was lost.
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

    /// Makes the row the server's, because the life that the user edited has ended on the server, and the server
    /// refused the edit.
    mutating func undoRevival(_ life: Int, _ refusal: RemotePush.Refusal, in layout: TableLayout) -> News {
        if let current = refusal.current { return begin(life, current, in: layout) }
        end(life, clock: nil)
        return News()
    }

    /// The earliest clock of a row's columns.
    private func earliestClock(of patch: RowPatch, in layout: TableLayout) -> WriteClock? {
        layout.columns.filter { !$0.isCounter && patch.values[$0.name] != nil }
            .compactMap { patch.clocks?[$0.name] }.min()
    }

    /// The clock with which the device will send a deletion. If the server has lost the deletion, this is its original
    /// clock. Nil: the server has not said when the row was deleted.
    func deletionClock(_ device: String) -> WriteClock? {
        let clock = local?.lifeClock.clock(device)
        return clock == RemoteRow.noClock ? nil : clock
    }
}
