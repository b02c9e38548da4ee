// This source file is part of the Optimist open source project, under the MIT licence.

import OptimistWire

/// A row of which the server has forgotten the life that this device knows (L4).
extension RowEntry {
    /// Whether a later transaction of the server's knows the row in an earlier life than the one it had confirmed: it has
    /// forgotten that this one ended, as it does with deleted rows after a while, and another device began from an earlier
    /// life again.
    func isForgotten(in life: Int, at seq: Int64?) -> Bool {
        life < generation && isKnownToServer && !isHealing && (seq ?? 0) > self.seq
    }

    /// Whether an unsent life or an unsent deletion stands above one that the server has, be it one that it has begun from the
    /// first again, since it has forgotten that the row was deleted. What comes is needed if the unsent one is refused, which
    /// may tell of the row as it was before, or given up: it is later than what is here, or nothing of that is here.
    func isAbove(_ life: Int, at seq: Int64?) -> Bool {
        isPending && !isKnownToServer && life < generation && ((seq ?? 0) > self.seq || known == 0)
    }

    /// A snapshot did not bring the row, of which something is unsent: it is sent whole.
    ///
    /// - Parameter isResync: Whether the server may have forgotten that the row was deleted. If not, it ends what is unsent
    ///   of that (M2).
    mutating func goOnMissing(isResync: Bool, in layout: TableLayout) {
        if isResync { goOnForgotten(in: layout) } else { sendWhole(in: layout) }
    }

    /// A row with unsent edits is sent whole: a server that remembers to have deleted it then says so, and one that has
    /// forgotten takes it. Where the table has counters, the row begins anew: other devices' counts may be of a life that the
    /// server has forgotten, and only in a new one do they end everywhere.
    mutating func goOnForgotten(in layout: TableLayout) {
        if layout.counters.isEmpty { sendWhole(in: layout) } else { beginAnew(in: layout) }
    }

    /// The server may remember nothing of the row, not even that it was deleted: so what it had confirmed goes along with the
    /// edits, as if it had lost that. Of a life that it never confirmed everything is sent anyway. A remote without clocks gets
    /// everything as it is here, and so does one whose row was elsewhere.
    mutating func sendWhole(in layout: TableLayout) {
        due = nil
        blocked = nil
        guard isKnownToServer else { return }
        acked = generation
        if isElsewhere || confirmed == ColumnClocks() { return forgetServer(in: layout) }
        isHealing = true
    }

    /// The row is sent as a new life, which stands against whatever another device still has of the old one. What was not
    /// edited keeps the time of its last write (W4): another device's edit may be later, and go on in the new life. What nobody
    /// has written, as a migration's default, yields to any.
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
