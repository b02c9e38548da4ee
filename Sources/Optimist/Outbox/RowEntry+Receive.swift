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
}

extension RowEntry {
    /// Takes a row from a page (R2, R5).
    ///
    /// Within one life a column is taken if its clock is later than the confirmed one: pages and verdicts may then come in
    /// any order. An unsent column stays the user's, and the received value becomes its base. Columns without clocks,
    /// from a remote that has none, follow the order of the server's transactions.
    mutating func receive(_ patch: RowPatch, in layout: TableLayout, quote: (TableLayout.Column, JSON) throws -> String)
        rethrows -> Reception
    {
        let life = patch.generation ?? 1
        let isInOrder = (patch.seq ?? .max) >= seq
        if isForgotten(in: life, at: patch.seq) { (generation, acked) = (0, 0) }
        seq = max(seq, patch.seq ?? 0)
        acked = max(acked, life)
        if life < generation { return Reception() }
        if life > generation { return begin(life, patch) }
        let reception = try mergeColumns(of: patch, isInOrder: isInOrder, in: layout, quote: quote)
        if isHealing, layout.columns.allSatisfy({ patch.clocks?[$0.name] == confirmed[$0.name] }) { stopHealing() }
        return reception
    }

    /// Takes a deleted row from a page.
    mutating func receive(_ tombstone: Tombstone) -> Reception {
        seq = max(seq, tombstone.seq ?? 0)
        acked = max(acked, tombstone.generation)
        if tombstone.generation == generation { stopHealing() }
        guard tombstone.generation > generation else { return Reception() }
        return end(tombstone.generation, clock: tombstone.clock)
    }

    /// Whether a later transaction of the server's knows the row in an earlier life than the one it had confirmed: it has
    /// forgotten that this one ended, as it does with deleted rows after a while, and another device began from the first
    /// life again (L4).
    private func isForgotten(in life: Int, at seq: Int64?) -> Bool {
        life < generation && !isPending && isKnownToServer && (seq ?? 0) > self.seq
    }

    /// The row is deleted in a later life than ours: it goes at once, and what was unsent is kept in the journal.
    mutating func end(_ life: Int, clock: Clock?) -> Reception {
        let reception = Reception(change: isAlive ? .delete : .none, lost: isAlive ? dirty & ~TableLayout.lifeMask : 0)
        generation = life
        acked = max(acked, life)
        confirmed = ColumnClocks(common: clock)
        becomeClean()
        return reception
    }

    /// The row is in a later life than ours: nothing of the old one stays, and what was unsent is kept in the journal.
    mutating func begin(_ life: Int, _ patch: RowPatch) -> Reception {
        let lost = isAlive ? dirty & ~TableLayout.lifeMask : 0
        generation = life
        confirmed = patch.clocks ?? ColumnClocks()
        becomeClean()
        return Reception(change: .put(patch.values), lost: lost)
    }

    private mutating func mergeColumns(
        of patch: RowPatch, isInOrder: Bool, in layout: TableLayout,
        quote: (TableLayout.Column, JSON) throws -> String
    ) rethrows -> Reception {
        var taken = JSONObject()
        for (name, value) in patch.values {
            guard let column = layout[column: name] else { continue }
            let clock = patch.clocks?[name]
            guard clock.map({ isNews($0, of: name) }) ?? isInOrder else { continue }
            if let clock { confirm(name, clock) }
            if dirty & column.mask != 0 { base[name] = try quote(column, value) } else { taken.append(name, value) }
        }
        return Reception(change: taken.isEmpty ? .none : .set(taken))
    }

    private func isNews(_ clock: Clock, of column: String) -> Bool { confirmed[column].map { clock > $0 } ?? true }
}
