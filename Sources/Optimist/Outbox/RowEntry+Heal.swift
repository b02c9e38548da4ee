// This source file is part of the Optimist open source project, under the MIT licence.

import OptimistWire

/// What the server had confirmed and has lost goes to it again, with its old clocks (L3).
extension RowEntry {
    /// Whether the device sends the confirmed half of the row. In a life that the server never confirmed, it sends the
    /// whole row anyway.
    var heals: Bool { isHealing && acked == generation }

    /// The clock with which a column is sent: an unsent edit's own or the confirmed one, whichever is later. Nil: none is
    /// known.
    func healedClock(of column: TableLayout.Column, device: String) -> Clock? {
        let confirmed = confirmedClock(of: column)
        guard dirty & column.mask != 0 else { return confirmed }
        let mine = unsentClock(of: column, device)
        return confirmed.map { max($0, mine) } ?? mine
    }

    /// An unsent edit that is older than what the server had: that goes to it, and the edit is lost when it is answered.
    private func hasLost(_ column: TableLayout.Column, device: String) -> Bool {
        dirty & column.mask != 0 && !column.isCounter
            && healedClock(of: column, device: device) != unsentClock(of: column, device)
    }

    /// Restores an edited reference that is older than the server's, if the server's refers to a row that is gone
    /// everywhere: the server would wait for that row for ever. The edit is sent as the later one.
    ///
    /// - Returns: Its new stamp, or the latest of several. Nil: no such edit has lost to that.
    mutating func standAgain(besides gone: RowRef, of table: String, device: String, in layout: TableLayout) -> Stamp? {
        guard heals else { return nil }
        var latest: Stamp?
        for column in layout.columns where column.reference?.table == table && hasLost(column, device: device) {
            guard let value = baseValue(of: column), column.form.stored(value) == gone.id,
                let stamp = confirmedClock(of: column)?.stamp.successor
            else { continue }
            stamps[column.name] = stamp
            base[column.name] = nil
            latest = max(latest ?? stamp, stamp)
        }
        return latest
    }

    /// The columns that are sent: those that the server has had a value for.
    func healingColumns(of layout: TableLayout, device: String) -> [TableLayout.Column] {
        layout.columns.filter { $0.isCounter || healedClock(of: $0, device: device) != nil }
    }

    /// A living row as it is sent: whole, as if it were new.
    ///
    /// - Parameter unknown: What it has in columns that this app does not know. A sum is left out: it is no device's own.
    func healing(
        _ values: JSONObject, _ totals: [String: [CounterTotal]], _ unknown: RowPatch, in layout: TableLayout,
        device: String
    ) -> RowPatch {
        let known = layout.columns.compactMap { column in
            (totals[column.name]?.latestClock ?? healedClock(of: column, device: device)).map { (column.name, $0) }
        }
        let others = unknown.values.members.filter { unknown.clocks?[$0.key] != nil }
        let clocks = known + others.compactMap { other in unknown.clocks?[other.key].map { (other.key, $0) } }
        let packed = ColumnClocks(packing: Dictionary(clocks, uniquingKeysWith: { $1 }))
        var values = values
        for column in layout.columns where hasLost(column, device: device) {
            values[column.name] = baseValue(of: column)
        }
        return RowPatch(generation: generation, clocks: packed, values: JSONObject(values.members + others))
    }

    /// Whether the server's row is as late in every column as what it had confirmed.
    func isCovered(by patch: RowPatch, in layout: TableLayout) -> Bool {
        layout.columns.allSatisfy { column in
            if column.isCounter { return counters[column.bit] == nil }
            return confirmedClock(of: column).map { $0 == patch.clocks?[column.name] } ?? true
        }
    }

    /// The server has again what it had confirmed.
    mutating func stopHealing() {
        guard isHealing else { return }
        isHealing = false
        if dirty == 0 { becomeClean() }
    }

    /// The server has the totals that were sent with the values it had lost. A page from before that says nothing about
    /// them.
    ///
    /// - Parameter told: The counters that the answer names although a later page has told of them.
    private mutating func confirmHealedCounters(
        _ sentRow: SentRow, _ verdict: Verdict, but told: [TableLayout.Column], in layout: TableLayout
    ) {
        switch verdict {
        case .accepted(let seq), .merged(let seq, _):
            for column in layout.counters where sentRow.mask & column.mask == 0 && !told.contains(column) {
                counters[column.bit]?.confirm(sentRow.totals[column.name] ?? [], seq: seq)
            }
        default: break
        }
    }

    /// The counters that an answer names although a later page has told of them.
    private func countersTold(after verdict: Verdict, in layout: TableLayout) -> [TableLayout.Column] {
        guard case .merged(let seq, let won) = verdict, seq < self.seq else { return [] }
        return layout.counters.filter { won.values[$0.name] != nil }
    }

    /// Books a verdict, of a row that heals or of any other.
    mutating func book(
        _ sentRow: SentRow, _ verdict: Verdict, push: Int64, device: String, in layout: TableLayout,
        quote: (TableLayout.Column, JSON) throws -> String
    ) rethrows -> Settlement {
        let before = self
        // The server lost the row, and did not delete it.
        if heals, !sentRow.heals, verdict.isGone { return Settlement(isUndecided: true) }
        if sentRow.heals, heals, isAlive, let refusal = verdict.refusal, refusal.current == nil {
            // The server has nothing of it: the row goes as one that was never accepted.
            acked = 0
            dirty = layout.fullMask
        }
        var settlement = try settle(sentRow, verdict, push: push, device: device, in: layout, quote: quote)
        guard before.isHealing, generation == before.generation else { return settlement }
        guard sentRow.heals, sentRow.generation == generation, verdict.isFinal else {
            // The push was sent before the device knew of the server's loss, or it carried a life that is over.
            isHealing = true
            pending = pending ?? before.pending
            stamp = stamp ?? before.stamp
            return settlement
        }
        stopHealing()
        let told = before.countersTold(after: verdict, in: layout)
        confirmHealedCounters(sentRow, verdict, but: told, in: layout)
        guard case .merged(_, let won) = verdict, isAlive else { return settlement }
        // The server keeps another total than was sent, and the table shows neither.
        settlement.isUnknown = told.contains { dirty & $0.mask == 0 && (counters[$0.bit]?.unsent ?? 0) != 0 }
        let settled = Set((layout.columns(in: sentRow.mask) + told).map(\.name))
        let others = JSONObject(won.values.members.filter { !settled.contains($0.key) })
        let reception = try receive(
            RowPatch(generation: generation, clocks: won.clocks, values: others, mine: won.mine),
            device: device, in: layout, quote: quote)
        if case .set(let received) = reception.change {
            guard case .set(let own) = settlement.change else {
                settlement.change = reception.change
                return settlement
            }
            settlement.change = .set(JSONObject(own.members + received.members))
        }
        return settlement
    }
}
