// This source file is part of the Optimist open source project, under the MIT licence.

import OptimistWire

extension RowEntry {
    /// Takes back everything unsent of a row that is not itself at fault.
    ///
    /// - Parameters:
    ///   - values: The row as it is in the app's table.
    ///   - current: The row as the server has it, which is needed to bring back a deleted one.
    /// - Returns: What was unsent, and what undoes it. Nil: it cannot be undone, and nothing is changed.
    mutating func takeBack(_ values: JSONObject, current: RowPatch?, in layout: TableLayout) -> (
        kind: SentRow.Kind, change: RowChange, mine: JSONObject
    )? {
        if !isAlive {
            guard let current else { return nil }
            return (.delete, bringBack(current, in: layout), [:])
        }
        guard isKnownToServer, !heals else {
            let mine = kept(values, in: layout)
            if heals { acked = 0 }
            becomeClean()
            generation = acked
            counters = [:]
            return (.create, .delete, mine)
        }
        let unsent = layout.columns(in: dirty)
        let mine = kept(JSONObject(unsent.map { ($0.name, values[$0.name] ?? .null) }), in: layout)
        let restored = JSONObject(unsent.map { ($0.name, baseValue(of: $0) ?? .null) })
        takeBackCounters(in: dirty)
        becomeClean()
        return (.update, .set(restored), mine)
    }

    /// The row lives on as the server has it.
    mutating func bringBack(_ current: RowPatch, in layout: TableLayout) -> RowChange {
        becomeClean()
        generation = current.generation ?? 1
        acked = generation
        confirm(current, in: layout)
        return .put(beginCounters(of: current, in: layout))
    }
}
