// This source file is part of the Optimist open source project, under the MIT licence.

import GRDB
import OptimistWire

/// The values that devices keep in their journals and rejections.
struct Kept {
    /// The texts that each device keeps of a row.
    private(set) var texts: [Int: [RowName: Set<String>]] = [:]
    private(set) var refused: [RowName: [Values]] = [:]
    /// The counts that were lost with their rows.
    private(set) var counts: [RowName: Int64] = [:]

    mutating func read(_ db: Database, of device: Int) throws {
        for row in try KeptRow.all(db) {
            keep(row.values, row.counts, of: row.name, isRefused: row.isRefused, on: device)
        }
    }

    mutating func keep(
        _ values: Values, _ counts: [Int64] = [], of row: RowName, isRefused: Bool, on device: Int
    ) {
        texts[device, default: [:]][row, default: []].formUnion(values.values.compactMap(\.self))
        self.counts[row, default: 0] += counts.reduce(0, +)
        if isRefused { refused[row, default: []].append(values) }
    }

    func refuses(_ cell: Cell) -> Bool {
        refused[cell.row]?.contains { refusal in
            guard let value = refusal[cell.column] else { return false }
            // A reference may have changed before it was sent, because its target was gone.
            return value == cell.value || Tables.isReference(cell.column, of: cell.row.table)
        } == true
    }
}
