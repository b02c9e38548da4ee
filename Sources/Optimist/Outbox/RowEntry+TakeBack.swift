// This source file is part of the Optimist open source project, under the MIT licence.

import OptimistWire

extension RowEntry {
    /// Takes back everything unsent of a row that is not itself at fault.
    ///
    /// - Parameters:
    ///   - values: The row as it is in the app's table.
    ///   - current: The row as the server has it, which is needed to bring back a deleted one at once.
    ///   - isLost: Whether a row that must be healed cannot be on the server anymore, so that it goes too.
    /// - Returns: The unsent half, and what undoes it. Nil: it cannot be undone, and nothing is changed.
    mutating func takeBack(
        _ values: JSONObject, current: RowPatch?, isLost: Bool = false, in layout: TableLayout
    ) -> (kind: SentRow.Kind, change: RowChange, mine: JSONObject)? {
        // What the server had confirmed of it, and has lost, goes to it again.
        if heals, !isLost, dirty == 0 { return nil }
        if !isAlive {
            if let current { return (.delete, bringBack(current, in: layout), [:]) }
            takeBackDeletion()
            return (.delete, .none, [:])
        }
        guard isKnownToServer, !(heals && isLost) else {
            let mine = kept(values, in: layout)
            if let current { return (.create, bringBack(current, in: layout), mine) }
            if heals { acked = 0 }
            giveUpUnsentLife()
            return (.create, .delete, mine)
        }
        let unsent = layout.columns(in: dirty)
        let mine = kept(JSONObject(unsent.map { ($0.name, values[$0.name] ?? .null) }), in: layout)
        // Only the edit has let it outlive its deletion.
        if hasOutlivedItsEnd { return (.update, end(acked, clock: nil).change, mine) }
        let restored = JSONObject(unsent.map { ($0.name, baseValue(of: $0) ?? .null) })
        takeBackCounters(in: dirty)
        clear(dirty, in: layout)
        return (.update, .set(restored), mine)
    }

    /// Takes back the row's deletion, if the server's row is unknown: nothing of the row is here, and it must be
    /// received again. The entry still notes in which life the server had it, and a life that the user begins follows
    /// that one. A row that the server has deleted too stays deleted.
    mutating func takeBackDeletion() {
        let isOver = isKnownToServer && !isHealing
        // The server has lost the end of that life, and does not take it again.
        if heals { acked -= 1 }
        if isOver { return becomeClean() }
        giveUpUnsentLife()
    }

    /// Goes back to the life in which the server had the row. Nothing of that life is here anymore: all that a page
    /// brings of it is news.
    mutating func giveUpUnsentLife() {
        becomeClean()
        counters = [:]
        generation = acked
        if isAlive { known = 0 }
    }

    /// The user deletes the row, and nothing of it is here.
    mutating func endUnseen(group: Stamp, stamp: Stamp) {
        becomeClean()
        generation += 1
        if acked == generation { confirmed = ColumnClocks() }
        (pending, self.stamp) = (group, stamp)
        dirty = TableLayout.lifeMask
    }

    /// Gives up a life that the server never had, because a deletion takes it. If this life followed one that the
    /// server has, the entry keeps the user's deletion of that one, unsent. If that earlier life was never here, the
    /// user has not deleted anything: the row waits, or comes with a page. Now and then no value is confirmed of a life
    /// that was here too, as when its values wait: then its deletion is undone as well, and nothing is lost.
    mutating func loseUnsentLife() {
        guard acked % 2 == 1, known != 0 else { return giveUpUnsentLife() }
        counters = [:]
        generation = acked + 1
        dirty = TableLayout.lifeMask
        stamps = [:]
        sent = 0
        base = [:]
        due = nil
        blocked = nil
    }

    /// The server has had a life that was unsent here, and has ended it: what was written in that counts as confirmed. Should
    /// the server lose the end, all of it heals.
    mutating func confirmEndedLife(of before: RowEntry, device: String, until seq: Int64, in layout: TableLayout) {
        if before.isKnownToServer { return }
        self.seq = seq
        confirmed = ColumnClocks(common: Clock(stamp: before.lifeStamp, device: device))
        for column in layout.columns where !column.isCounter {
            confirm(column, before.unsentClock(of: column, device))
        }
    }

    /// The row lives on as the server has it. What a page has brought later waits, and is received then, unless that is its
    /// end.
    mutating func bringBack(_ current: RowPatch, in layout: TableLayout) -> RowChange {
        let isOver = !isHealing && acked % 2 == 0 && current.generation ?? 1 < acked && current.seq ?? 0 < seq
        becomeClean()
        if isOver {
            let change: RowChange = isAlive ? .delete : .none
            counters = [:]
            generation = acked
            return change
        }
        seq = max(seq, current.seq ?? 0)
        generation = current.generation ?? 1
        acked = generation
        confirm(current, in: layout)
        return .put(beginCounters(of: current, in: layout))
    }
}
