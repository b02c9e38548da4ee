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
            return (.delete, bringBack(current), [:])
        }
        guard isKnownToServer, !heals else {
            if heals { acked = 0 }
            becomeClean()
            generation = acked
            return (.create, .delete, values)
        }
        let unsent = layout.columns(in: dirty)
        let mine = JSONObject(unsent.map { ($0.name, values[$0.name] ?? .null) })
        let restored = JSONObject(
            unsent.map { ($0.name, base[$0.name].flatMap(SQLLiteral.parse).map($0.form.wire) ?? .null) })
        becomeClean()
        return (.update, .set(restored), mine)
    }

    /// The row lives on as the server has it.
    mutating func bringBack(_ current: RowPatch) -> RowChange {
        becomeClean()
        generation = current.generation ?? generation - 1
        acked = generation
        confirmed = current.clocks ?? ColumnClocks()
        return .put(current.values)
    }
}
