// This source file is part of the Optimist open source project, under the MIT licence.

import OptimistWire

/// Rows in a life that this device knows and the server has forgotten (L4).
extension RowEntry {
    /// Whether an incoming row is from a later transaction but in an earlier life. If so, the server has forgotten the
    /// end of the confirmed life, and another device created the row again.
    func isForgotten(in life: Int, at seq: Int64?) -> Bool {
        life < generation && isKnownToServer && (seq ?? 0) > remote.seq
    }

    /// Whether an incoming row must wait behind an unsent life or deletion.
    ///
    /// The incoming row waits only if it is later than the known row, or if the table lacks the row. The device needs
    /// the incoming row if the app gives up the unsent life, or if the server refuses that life, because the refusal
    /// may report an earlier state.
    func isAbove(_ life: Int, at seq: Int64?) -> Bool {
        isPending && !isKnownToServer && life < generation && ((seq ?? 0) > remote.seq || remote.presence == .absent)
    }

    /// Sends a pending row in full, because the row is missing from a snapshot.
    ///
    /// - Parameter isResync: Whether the server may have forgotten the row's deletion. If not, the server's answer ends
    ///   the edits (M2).
    mutating func goOnMissing(isResync: Bool, in layout: TableLayout) {
        if isResync { goOnForgotten(in: layout) } else { sendWhole(in: layout) }
    }

    /// Sends a pending row in full. The server answers "gone" if it remembers the deletion, and takes the row
    /// otherwise.
    ///
    /// With counters, the row begins a new life. Other devices' counts may be from a forgotten life, and only a new
    /// life ends these counts everywhere.
    mutating func goOnForgotten(in layout: TableLayout) {
        if layout.counters.isEmpty { sendWhole(in: layout) } else { beginAnew(in: layout) }
    }

    /// Marks the full row as unsent, because the server may have forgotten even the row's deletion.
    ///
    /// Confirmed values are restored along with the edits. If there are no clocks, or if the app's table does not show
    /// the server's row, all of the table's values are sent.
    mutating func sendWhole(in layout: TableLayout) {
        local?.stopWaiting()
        guard isKnownToServer else { return }
        if remote.isElsewhere || remote.clocks == ColumnClocks() {
            forgetServer(in: layout)
        } else {
            restore(in: layout)
        }
    }

    /// Begins a new life, which wins over any remains of the old one on other devices.
    ///
    /// Unedited columns keep the clock of their last write (W4), so another device's later edit continues in the new
    /// life. A value that no user wrote, such as a migration's default, yields to any other value.
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

    private mutating func forgetServer(in layout: TableLayout) {
        remote.forget()
        local?.becomeWhole(in: layout)
        forgetConfirmedCounters()
    }
}
