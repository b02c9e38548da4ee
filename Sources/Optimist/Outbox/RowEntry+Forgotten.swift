// This source file is part of the Optimist open source project, under the MIT licence.

import OptimistWire

/// A row in a life that the server has forgotten and this device knows (L4).
extension RowEntry {
    /// Whether a later transaction of the server's knows the row in an earlier life than the one it had confirmed: it has
    /// forgotten that this one ended, as it does with deleted rows after a while, and another device began from an earlier
    /// life again.
    func isForgotten(in life: Int, at seq: Int64?) -> Bool {
        life < generation && isKnownToServer && !isHealing && (seq ?? 0) > self.seq
    }

    /// Whether an unsent life or deletion stands above a life that the server has. The server may also have begun again
    /// from the first life, because it has forgotten that the row was deleted. The device needs the incoming row if the
    /// server refuses the unsent one (the refusal may tell of an earlier state of the row), or if the app gives the
    /// unsent one up: it is later than the row here, or the device has no row.
    func isAbove(_ life: Int, at seq: Int64?) -> Bool {
        isPending && !isKnownToServer && life < generation && ((seq ?? 0) > self.seq || known == 0)
    }

    /// A snapshot did not bring a row that has unsent edits: the row is sent whole.
    ///
    /// - Parameter isResync: Whether the server may have forgotten that the row was deleted. If not, it ends what is unsent
    ///   of that (M2).
    mutating func goOnMissing(isResync: Bool, in layout: TableLayout) {
        if isResync { goOnForgotten(in: layout) } else { sendWhole(in: layout) }
    }

    /// A row with unsent edits is sent whole. A server that remembers the deletion answers that the row is gone; one
    /// that has forgotten it takes the row. Where the table has counters, the row begins a new life: other devices'
    /// counts may be from a life that the server has forgotten, and only a new life ends them everywhere.
    mutating func goOnForgotten(in layout: TableLayout) {
        if layout.counters.isEmpty { sendWhole(in: layout) } else { beginAnew(in: layout) }
    }

    /// The server may remember nothing of the row, not even that it was deleted. So the values that it had confirmed
    /// are sent with the edits, as if the server had lost them. A life that the server never confirmed is sent whole
    /// anyway. A remote without clocks gets all values as they are here, and so does one whose row was elsewhere.
    mutating func sendWhole(in layout: TableLayout) {
        due = nil
        blocked = nil
        guard isKnownToServer else { return }
        acked = generation
        if isElsewhere || confirmed == ColumnClocks() { return forgetServer(in: layout) }
        isHealing = true
    }

    /// The row is sent as a new life, which stands against whatever another device still has of the old one. A column
    /// that was not edited keeps the time of its last write (W4): another device's edit may be later, and go on in the
    /// new life. A value that no user wrote, such as a migration's default, yields to any other.
    mutating func beginAnew(in layout: TableLayout) {
        pending = pending ?? confirmed.common?.stamp ?? Stamp(rawValue: 1)
        stamp = stamp ?? pending
        for column in layout.columns where !column.isCounter && dirty & column.mask == 0 {
            let written = known & column.mask == 0 ? Stamp(rawValue: 1) : confirmed[column.name]?.stamp
            if let written, written != lifeStamp { stamps[column.name] = written }
        }
        generation += 2
        due = nil
        blocked = nil
        forgetServer(in: layout)
    }

    /// All of the row is unsent, and nothing of the server's is here.
    private mutating func forgetServer(in layout: TableLayout) {
        acked = 0
        confirmed = ColumnClocks()
        known = 0
        dirty = layout.fullMask
        sent = 0
        base = [:]
        forgetConfirmedCounters()
    }
}
