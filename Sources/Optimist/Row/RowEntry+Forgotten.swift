// This source file is part of the Optimist open source project, under the MIT licence.

import OptimistWire

/// Rows in a life that this device knows and the server has forgotten (L4).
extension RowEntry {
    /// Whether a later server transaction has the row in an earlier life than the confirmed one.
    ///
    /// The server forgets deleted rows after a while. If it has forgotten the end of the confirmed life, another device
    /// may have created the row again in an earlier life.
    func isForgotten(in life: Int, at seq: Int64?) -> Bool {
        life < generation && isKnownToServer && (seq ?? 0) > remote.seq
    }

    /// Whether an incoming row must wait, because this device has an unsent life or deletion above the row's life.
    ///
    /// The row waits only if it is later than the known one, or if the app's table has nothing of the row. The device
    /// needs it if the server refuses the unsent life, since the refusal may report an earlier state, or if the app
    /// gives that life up.
    func isAbove(_ life: Int, at seq: Int64?) -> Bool {
        isPending && !isKnownToServer && life < generation && ((seq ?? 0) > remote.seq || remote.presence == .absent)
    }

    /// Marks a row with unsent edits to be sent in full, because a snapshot did not bring it.
    ///
    /// - Parameter isResync: Whether the server may have forgotten the row's deletion. If not, its answer ends the
    ///   edits (M2).
    mutating func goOnMissing(isResync: Bool, in layout: TableLayout) {
        if isResync { goOnForgotten(in: layout) } else { sendWhole(in: layout) }
    }

    /// Marks a row with unsent edits to be sent in full. The server answers "gone" if it remembers the deletion, and
    /// takes the row otherwise.
    ///
    /// In a table with counters, the row begins a new life. Other devices' counts may be from a forgotten life, and
    /// only a new life ends them everywhere.
    mutating func goOnForgotten(in layout: TableLayout) {
        if layout.counters.isEmpty { sendWhole(in: layout) } else { beginAnew(in: layout) }
    }

    /// Marks the full row as unsent, because the server may remember nothing of it, not even a deletion.
    ///
    /// The device sends confirmed values along with the edits, as if the server had lost them. If there are no clocks,
    /// or if the row was elsewhere, it sends all values as they are here.
    mutating func sendWhole(in layout: TableLayout) {
        local?.stopWaiting()
        guard isKnownToServer else { return }
        if remote.isElsewhere || remote.clocks == ColumnClocks() {
            forgetServer(in: layout)
        } else {
            restore(in: layout)
        }
    }

    /// Begins a new life of the row, which wins over any remains of the old one on other devices.
    ///
    /// Columns without an edit keep the clock of their last write (W4), so a later edit by another device continues in
    /// the new life. A value that no user wrote, such as a migration's default, yields to any other.
    mutating func beginAnew(in layout: TableLayout) {
        let written = remote.clocks.common?.stamp ?? Stamp(rawValue: 1)
        var edit = local ?? LocalEdit(group: written, place: written.rawValue, stamp: written)
        for column in layout.columns where !column.isCounter && dirty & column.mask == 0 {
            let written = !remote.has(column) ? Stamp(rawValue: 1) : remote.clocks[column.name]?.stamp
            if let written, written != edit.stamp { edit.stamp(column, written) }
        }
        edit.stopWaiting()
        local = edit
        generation += 2
        forgetServer(in: layout)
    }

    /// Marks the full row as unsent, with nothing confirmed by the server.
    private mutating func forgetServer(in layout: TableLayout) {
        remote.forget()
        local?.becomeWhole(in: layout)
        forgetConfirmedCounters()
    }
}
