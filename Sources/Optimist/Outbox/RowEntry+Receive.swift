// This source file is part of the Optimist open source project, under the MIT licence.

import OptimistWire

/// What a received row does to the app's table.
enum RowChange: Equatable, Sendable {
    case none
    /// Insert the row, or replace every column of it.
    case put(JSONObject)
    /// Set some columns.
    case set(JSONObject)
    case delete
}

/// What receiving a row comes to.
struct Reception: Equatable, Sendable {
    var change = RowChange.none
    /// The unsent columns of the user's that lose, to be kept in the journal before the change is made.
    var lost: Int64 = 0
    /// The unsent columns of the user's that stay when the whole row is put again.
    var kept: Int64 = 0
    /// Whether the row's unsent half stands above the incoming row: an unsent life or deletion, or values that the
    /// server has lost and may find later. The row is then received again when that half is settled.
    var isAboveIt = false
}

extension RowEntry {
    /// Takes a row from a page (R2, R5).
    ///
    /// Within one life a column is taken if its clock is later than the confirmed one: pages and verdicts may then come in
    /// any order. An unsent column stays the user's, and the received value becomes its base. Columns without clocks,
    /// from a remote that has none, follow the order of the server's transactions.
    ///
    /// - Parameter head: The server's last transaction when the page was made, up to which the row is as it came. Nil: unknown.
    mutating func receive(
        _ patch: RowPatch, asOf head: Int64? = nil, device: String, in layout: TableLayout,
        quote: (TableLayout.Column, JSON) throws -> String
    ) rethrows -> Reception {
        let life = patch.generation ?? 1
        if life == generation, isKnownToServer, patch.seq != nil, isElsewhere {
            return try putAnew(patch, in: layout, quote: quote)
        }
        // What heals may belong to a later life too, or be over: the server says which, once it has it again.
        let isAwaited = heals && isAlive && layout.rules.editWins && life > generation
        if isAwaited { return Reception(isAboveIt: true) }
        if isAbove(life, at: patch.seq) {
            acked = max(acked, life)
            return Reception(isAboveIt: true)
        }
        let isInOrder = (patch.seq ?? .max) >= seq
        // An answer names a transaction that may have changed nothing of the row.
        let isLater = !isHealing && patch.seq.map { max($0, head ?? $0) >= seq } ?? false
        if isForgotten(in: life, at: patch.seq) {
            if isPending { return try moveUnsent(to: life, patch, in: layout, quote: quote) }
            (generation, acked) = (0, 0)
        }
        seq = max(seq, patch.seq ?? 0)
        let isFirst = acked < life && life == generation
        if isFirst {
            // The server's first word on this life: what was confirmed of an earlier one counts no more.
            confirmed = ColumnClocks()
            known = 0
        }
        acked = max(acked, life)
        if life < generation { return Reception() }
        if survives(into: life, in: layout) {
            return try rejoin(life, patch, device: device, in: layout, quote: quote)
        }
        if life > generation {
            if isDeletedLater(than: patch, device: device, in: layout) {
                generation = life + 1
                return Reception()
            }
            return begin(life, patch, in: layout)
        }
        if isLater, lacksConfirmedColumn(patch, in: layout) {
            return try putAnew(patch, isLater: true, in: layout, quote: quote)
        }
        let reception = try mergeColumns(of: patch, isInOrder: isInOrder, isLater: isLater, in: layout, quote: quote)
        // It was made here too.
        if isFirst { known &= ~Self.elsewhere }
        if isHealing, isCovered(by: patch, in: layout) { stopHealing() }
        return reception
    }

    /// Takes a deleted row from a page.
    mutating func receive(_ tombstone: Tombstone, device: String, in layout: TableLayout) -> Reception {
        if heals, outlives(tombstone, device: device, in: layout) { return Reception(isAboveIt: true) }
        let isForgotten = isForgotten(in: tombstone.generation, at: tombstone.seq)
        seq = max(seq, tombstone.seq ?? 0)
        if heals, tombstone.generation == generation, let told = tombstone.clock, isLaterEnd(than: told) {
            return Reception()
        }
        confirmEnd(of: tombstone.generation, at: tombstone.clock)
        if tombstone.generation == generation { stopHealing() }
        if isForgotten, isAlive {
            guard isPending else {
                acked = 0
                return end(tombstone.generation, clock: tombstone.clock)
            }
            goOnForgotten(in: layout)
            confirmEnd(of: tombstone.generation, at: tombstone.clock)
        }
        guard tombstone.generation > generation, !outlives(tombstone, device: device, in: layout) else {
            return Reception()
        }
        return end(tombstone.generation, clock: tombstone.clock)
    }

    /// Whether another device ended the row later than the server says. The server has lost that, and must hear of it.
    /// If the same device deleted the row, the server may have reined in its clock (M4).
    private func isLaterEnd(than told: Clock) -> Bool {
        confirmed.common.map { $0 > told && $0.device != told.device } ?? false
    }

    /// Whether the user has deleted the row after everything that makes its next life: where the latest edit wins, an edit
    /// that is earlier than that has brought it back from an earlier deletion only.
    func isDeletedLater(than patch: RowPatch, device: String, in layout: TableLayout) -> Bool {
        guard layout.rules.editWins, isPending, !isAlive, let latest = patch.clocks?.latest,
            let deletion = deletionClock(device)
        else { return false }
        return deletion > latest
    }

    /// Unsent edits of a life that the server has forgotten go on in the life that it has.
    private mutating func moveUnsent(
        to life: Int, _ patch: RowPatch, in layout: TableLayout, quote: (TableLayout.Column, JSON) throws -> String
    ) rethrows -> Reception {
        (generation, acked) = (life, life)
        (confirmed, known) = (ColumnClocks(), 0)
        // An answer to a push of the former life says nothing of this life.
        sent = 0
        for column in layout.counters {
            counters[column.bit] = counters[column.bit]?.goingOn(with: patch.mine[column.name] ?? [:])
        }
        return try putAnew(patch, in: layout, quote: quote)
    }

    /// The row is deleted in a later life than ours: it goes at once, and what was unsent is kept in the journal.
    mutating func end(_ life: Int, clock: Clock?) -> Reception {
        let reception = Reception(change: isAlive ? .delete : .none, lost: isAlive ? dirty & ~TableLayout.lifeMask : 0)
        generation = life
        acked = max(acked, life)
        confirmed = ColumnClocks(common: clock)
        counters = [:]
        becomeClean()
        return reception
    }

    /// The row is in a later life than ours: nothing of the old one stays, and what was unsent is kept in the journal.
    mutating func begin(_ life: Int, _ patch: RowPatch, in layout: TableLayout) -> Reception {
        let lost = isAlive ? dirty & ~TableLayout.lifeMask : 0
        generation = life
        confirm(patch, in: layout)
        becomeClean()
        return Reception(change: .put(beginCounters(of: patch, in: layout)), lost: lost)
    }

    /// The clock of what the server has taken of this device's since it had a row. Nil: it is in that row.
    private func laterClock(of column: TableLayout.Column, than patch: RowPatch) -> Clock? {
        guard let clock = confirmedClock(of: column) else { return nil }
        if patch.values[column.name] == nil { return clock }
        return patch.clocks?[column.name].flatMap { clock > $0 ? clock : nil }
    }

    /// Whether the server has lost a column that it had: it has forgotten the row, and got it back from a device that
    /// knew less. A server that does not know a new name yet has the column under a former one.
    private func lacksConfirmedColumn(_ patch: RowPatch, in layout: TableLayout) -> Bool {
        layout.columns.contains { column in
            !column.isCounter && patch.values[column.name] == nil && confirmedClock(of: column) != nil
                && !layout.rules.formerNames(ofColumn: column.name).contains { patch.values[$0] != nil }
        }
    }

    /// Puts the row that was elsewhere. The table holds an earlier life of it, except for values that are unsent or
    /// were sent since.
    ///
    /// - Parameter isLater: Whether the row has everything that was sent and is answered.
    private mutating func putAnew(
        _ patch: RowPatch, isLater: Bool = false, in layout: TableLayout,
        quote: (TableLayout.Column, JSON) throws -> String
    ) rethrows -> Reception {
        let former = self
        seq = max(seq, patch.seq ?? 0)
        confirm(patch, in: layout)
        var reception = Reception()
        var values = patch.values
        for column in layout.columns {
            let isDirty = dirty & column.mask != 0
            if column.isCounter {
                values[column.name] = takeCounter(column, from: patch, seq: patch.seq, isDirty: isDirty)
            } else if !isLater, let later = former.laterClock(of: column, than: patch) {
                reception.kept |= column.mask
                confirm(column, later)
            } else if isDirty {
                reception.kept |= column.mask
                base[column.name] = try quote(column, patch.values[column.name] ?? .null)
            }
        }
        reception.change = .put(values)
        return reception
    }

    /// - Parameter isLater: Whether this is the server's row as of the latest transaction that the device knows of; the
    ///   answer to a push tells of its own columns only. An older clock then is no echo of an earlier value: the server
    ///   has forgotten the row, and got it back from a device that knew less.
    private mutating func mergeColumns(
        of patch: RowPatch, isInOrder: Bool, isLater: Bool, in layout: TableLayout,
        quote: (TableLayout.Column, JSON) throws -> String
    ) rethrows -> Reception {
        var taken = JSONObject()
        // A whole row in a page does not name the counters that no device has counted in.
        for column in layout.counters
        where patch.seq != nil || patch.values[column.name] != nil {
            let isDirty = dirty & column.mask != 0
            taken.append(column.name, takeCounter(column, from: patch, seq: patch.seq, isDirty: isDirty))
        }
        for (name, value) in patch.values {
            guard let column = layout[column: name], !column.isCounter else { continue }
            let clock = patch.clocks?[name]
            let isSettled = isHealing || patch.seq == nil
            guard clock.map({ isNews($0, of: column, isLater: isLater, isSettled: isSettled) }) ?? isInOrder else {
                continue
            }
            confirm(column, clock)
            if dirty & column.mask != 0 { base[name] = try quote(column, value) } else { taken.append(name, value) }
        }
        return Reception(change: taken.isEmpty ? .none : .set(taken))
    }

    /// - Parameter isSettled: Whether the value counts under a clock that is known too. Mostly it is an echo; but a server that
    ///   went back may have made one row of two that one transaction wrote, and then has the other's value under the same clock.
    private func isNews(_ clock: Clock, of column: TableLayout.Column, isLater: Bool, isSettled: Bool) -> Bool {
        confirmedClock(of: column).map { clock > $0 || (isLater && clock < $0) || (isSettled && clock == $0) } ?? true
    }
}
