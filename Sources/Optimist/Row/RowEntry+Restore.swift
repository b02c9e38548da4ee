// This source file is part of the Optimist open source project, under the MIT licence.

import OptimistWire

/// Rows that the server had and lost. The device sends them again, as edits with their original clocks (L3).
extension RowEntry {
    /// Whether the server had and lost this life, so that the row is sent in full.
    var isRestored: Bool { local?.lostLife != nil }

    var wasOnServer: Bool { isKnownToServer || isRestored }

    /// Whether an unsent value is the user's edit, not a value that the server lost.
    func isEdited(_ column: TableLayout.Column) -> Bool {
        dirty & column.mask != 0 && unsentClock(of: column.name).original == nil
    }

    func edited(in layout: TableLayout) -> Int64 {
        if local?.clocks.isEmpty ?? true { return dirty & ~TableLayout.lifeMask }
        return layout.columns.reduce(0) { isEdited($1) ? $0 | $1.mask : $0 }
    }

    /// Marks as unsent everything that the server had. If a column was edited later, the edit is sent, with the
    /// server's former value as its base value.
    ///
    /// Restored values count as sent and unanswered, because the server and other devices may have them.
    mutating func restore(in layout: TableLayout) {
        let end = remote.clocks.common ?? RemoteRow.noClock
        let written = Stamp(rawValue: max(end.stamp.rawValue, 1))
        var edit = local ?? LocalEdit(group: written, place: written.rawValue, stamp: written)
        let isLater = isAlive || edit.dirty & TableLayout.lifeMask == 0 || end.stamp > edit.stamp
        edit.restoreLife(at: isLater ? end : nil)
        local = edit
        if isAlive { restoreColumns(besides: edit.dirty, in: layout) }
        remote.lose()
    }

    private mutating func restoreColumns(besides mask: Int64, in layout: TableLayout) {
        for column in layout.columns where mask & column.mask == 0 && layout.isStoredByServer(column) {
            guard let clock = column.isCounter ? counters[column.bit]?.pushed.latestClock : remote.clock(of: column)
            else { continue }
            local?.restore(column, at: clock)
        }
    }

    /// Drops the user's edits of some columns. Values that the server has lost become unsent instead.
    mutating func drop(_ mask: Int64, in layout: TableLayout) {
        clear(mask, in: layout)
        if isRestored { restoreColumns(besides: ~mask, in: layout) }
    }

    /// Ends unsent edits that are earlier than a value which the server had (M1).
    mutating func yieldToLater(device: String, in layout: TableLayout) -> Rendering {
        let before = self
        let later = layout.columns(in: dirty).filter { column in
            guard !column.isCounter, let clock = remote.clock(of: column) else { return false }
            return clock > unsentClock(of: column.name).clock(device)
        }
        let theirs = JSONObject(later.map { ($0.name, baseValue(of: $0) ?? .null) })
        clear(layout.mask(of: theirs), in: layout)
        return rendering(of: News(values: theirs), since: before, in: layout)
    }

    /// Keeps an unsent edit although the server's former value is later. Returns the edit's new stamp, which is later
    /// than both.
    mutating func stand(_ column: TableLayout.Column) -> Stamp {
        let stamp = max(unsentClock(of: column.name).stamp, remote.clock(of: column)?.stamp ?? .zero).successor
        local?.stamp(column, stamp)
        return stamp
    }

    /// Stops restoring values that another device has sent again or replaced.
    mutating func yieldOriginals(to patch: RowPatch, in layout: TableLayout) {
        guard isRestored else { return }
        for column in layout.columns(in: dirty) where !column.isCounter && patch.values[column.name] != nil {
            guard let mine = unsentClock(of: column.name).original,
                patch.clocks?[column.name].map({ $0 >= mine }) ?? true
            else { continue }
            clear(column.mask, in: layout)
            local?.answer(column.mask)
        }
    }

    /// Stops restoring when the server has every lost value again. Later edits stay unsent.
    mutating func endRestoring(in layout: TableLayout) {
        guard isRestored, layout.columns(in: dirty).allSatisfy({ unsentClock(of: $0.name).original == nil }) else {
            return
        }
        local?.answer(TableLayout.lifeMask)
        clear(TableLayout.lifeMask & dirty, in: layout)
    }
}
