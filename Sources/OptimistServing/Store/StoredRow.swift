// This source file is part of the Optimist open source project, under the MIT licence.

public import OptimistWire

/// A row as the server keeps it: what merging knows of it, and where it stands in the account's order.
public struct StoredRow: Sendable {
    public var row: MergeRow
    /// The transaction that changed it last.
    public var seq: Int64
    /// Its number within that transaction.
    public var ordinal: Int
    /// The transaction in which its present life began, or the last one if it is deleted.
    public var bornSeq: Int64

    var place: Place { Place(seq: seq, ordinal: ordinal) }

    /// The row as a patch that carries all of it.
    var patch: RowPatch {
        let columns = row.cells.keys.sorted()
        var values: [JSONObject.Member] = []
        values.reserveCapacity(columns.count)
        for column in columns {
            if let cell = row.cells[column] { values.append((column, cell.value)) }
        }
        return RowPatch(generation: row.generation, clocks: row.clocks, seq: seq, values: JSONObject(values))
    }

    var tombstone: Tombstone { Tombstone(generation: row.generation, clock: row.deletion, seq: seq) }

    /// The JSON that stands in a page for this row, and from which the row can be read again.
    public func content(id: String) -> [UInt8] {
        row.isAlive ? JSON.object(patch.json(id: id)).bytes : tombstone.json.bytes
    }

    /// Reads a row from what was stored. Nil if the content is not a row's.
    public init?(content: JSON, seq: Int64, ordinal: Int, bornSeq: Int64) {
        guard let members = content.object, let row = MergeRow(content: members) else { return nil }
        self.init(row: row, seq: seq, ordinal: ordinal, bornSeq: bornSeq)
    }

    public init(row: MergeRow, seq: Int64, ordinal: Int, bornSeq: Int64) {
        self.row = row
        self.seq = seq
        self.ordinal = ordinal
        self.bornSeq = bornSeq
    }
}

extension MergeRow {
    /// The clocks of all columns, packed. Nil for a row without columns.
    var clocks: ColumnClocks? {
        guard let first = cells.values.first?.clock else { return nil }
        if cells.values.allSatisfy({ $0.clock == first }) { return ColumnClocks(common: first) }
        return ColumnClocks(packing: cells.mapValues(\.clock))
    }

    fileprivate init?(content: JSONObject) {
        guard let patch = RowPatch(json: content), let generation = patch.generation else { return nil }
        self.init(generation: generation)
        if isAlive {
            cells.reserveCapacity(patch.values.count)
            for (column, value) in patch.values {
                guard let clock = patch.clocks?[column] else { return nil }
                cells[column] = Cell(value, clock)
            }
        } else {
            deletion = patch.clocks?.common
        }
    }
}
