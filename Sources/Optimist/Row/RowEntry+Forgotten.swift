// This source file is part of the Optimist open source project, under the MIT licence.

import OptimistWire

/// A row in a life that this device knows and that the server has forgotten (L4).
extension RowEntry {
    /// Whether a later transaction of the server's has the row in an earlier life than the one that the server had
    /// confirmed. The server forgets deleted rows after a while. It has then forgotten that the confirmed life ended,
    /// and another device has begun again from an earlier life.
    func isForgotten(in life: Int, at seq: Int64?) -> Bool {
        life < generation && isKnownToServer && (seq ?? 0) > remote.seq
    }

    /// Whether an incoming row must wait, because the device has an unsent life or deletion above the row's life. The
    /// server may also have begun again from the first life, because it has forgotten that the row was deleted.
    ///
    /// It waits only if it is later than the row here, or if the device has no row. The device needs it if the server
    /// refuses the unsent life, since the refusal may tell of an earlier state of the row, or if the app gives the
    /// unsent life up.
    func isAbove(_ life: Int, at seq: Int64?) -> Bool {
        isPending && !isKnownToServer && life < generation && ((seq ?? 0) > remote.seq || remote.presence == .absent)
    }

    /// Marks a row with unsent edits to be sent whole, because a snapshot did not bring it.
    ///
    /// - Parameter isResync: Whether the server may have forgotten that the row was deleted. If not, its answer ends
    ///   the unsent edits (M2).
    mutating func goOnMissing(isResync: Bool, in layout: TableLayout) {
        if isResync { goOnForgotten(in: layout) } else { sendWhole(in: layout) }
    }

    /// Marks a row with unsent edits to be sent whole. If the server remembers the deletion, it answers that the row is
    /// gone. If it has forgotten the deletion, it takes the row. In a table with counters, the row begins a new life:
    /// the counts of other devices may be from a life that the server has forgotten, and only a new life ends them
    /// everywhere.
    mutating func goOnForgotten(in layout: TableLayout) {
        if layout.counters.isEmpty { sendWhole(in: layout) } else { beginAnew(in: layout) }
    }

    /// Marks the whole row as unsent. The server may remember nothing of the row, not even that it was deleted. So the
    /// device sends the values that the server had confirmed together with the edits, as if the server had lost them. A
    /// life that the server never confirmed is sent whole anyway. If the remote has no clocks, or if the row was
    /// elsewhere, the device sends all values as they are here.
    mutating func sendWhole(in layout: TableLayout) {
        local?.stopWaiting()
        guard isKnownToServer else { return }
        if remote.isElsewhere || remote.clocks == ColumnClocks() {
            forgetServer(in: layout)
        } else {
            restore(in: layout)
        }
    }

    /// Begins a new life of the row, which wins against everything that another device still has of the old one. A
    /// column that the user has not edited keeps the time of its last write (W4): an edit by another device may be
    /// later, and then continues in the new life. A value that no user wrote, such as a migration's default, yields to
    /// any other.
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

    /// Marks the whole row as unsent, and forgets everything that the server has confirmed of it.
    private mutating func forgetServer(in layout: TableLayout) {
        remote.forget()
        local?.becomeWhole(in: layout)
        forgetConfirmedCounters()
    }
}
