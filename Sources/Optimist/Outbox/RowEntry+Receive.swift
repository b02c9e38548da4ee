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
    /// Within one life an unsent column stays the user's, and the received value becomes its base. A row from before what
    /// the server is already known to hold is left: a later page brings it whole. The server's row is a merge already,
    /// so what is clean here follows it.
    mutating func receive(_ patch: RowPatch, in layout: TableLayout, quote: (TableLayout.Column, JSON) throws -> String)
        rethrows -> Reception
    {
        let life = patch.generation ?? 1
        guard (patch.seq ?? .max) >= seq else { return Reception() }
        seq = patch.seq ?? seq
        acked = max(acked, life)
        if life < generation { return Reception() }
        if life > generation { return begin(life, patch) }
        return try mergeColumns(of: patch, in: layout, quote: quote)
    }

    /// Takes a deleted row from a page.
    mutating func receive(_ tombstone: Tombstone) -> Reception {
        guard (tombstone.seq ?? .max) >= seq else { return Reception() }
        seq = tombstone.seq ?? seq
        acked = max(acked, tombstone.generation)
        guard tombstone.generation > generation else { return Reception() }
        return end(tombstone.generation, clock: tombstone.clock)
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

    private mutating func begin(_ life: Int, _ patch: RowPatch) -> Reception {
        let lost = isAlive ? dirty & ~TableLayout.lifeMask : 0
        generation = life
        confirmed = patch.clocks ?? ColumnClocks()
        becomeClean()
        return Reception(change: .put(patch.values), lost: lost)
    }

    private mutating func mergeColumns(
        of patch: RowPatch, in layout: TableLayout, quote: (TableLayout.Column, JSON) throws -> String
    ) rethrows -> Reception {
        var taken = JSONObject()
        for (name, value) in patch.values {
            guard let column = layout[column: name] else { continue }
            if dirty & column.mask != 0 {
                base[name] = try quote(column, value)
            } else if patch.clocks?[name] == nil || patch.clocks?[name] != confirmed[name] {
                taken.append(name, value)
            }
        }
        confirmed = patch.clocks ?? confirmed
        return Reception(change: taken.isEmpty ? .none : .set(taken))
    }
}
