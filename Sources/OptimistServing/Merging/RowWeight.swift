// This source file is part of the Optimist open source project, under the MIT licence.

@_spi(Internals) import OptimistWire

/// The size of a row, in bytes.
///
/// Totals and clocks have their own limit, as high as the limit of the columns: each device adds totals and clocks, and
/// a writer may name any number of devices.
struct RowWeight: Equatable {
    private var columns: Int
    private var beside: Int

    private init(columns: Int, beside: Int) {
        self.columns = columns
        self.beside = beside
    }

    init(of row: MergeRow, _ memory: RowMemory) {
        columns = row.cells.reduce(0) { $0 + Self.weight($1.key, $1.value) }
        beside = row.counters.values.joined().reduce(memory.weight) { $0 + Self.weight($1.key, $1.value) }
    }

    init(of row: MergeRow, namedBy other: MergeRow) {
        columns = other.cells.keys.reduce(0) { sum, column in
            sum + (row.cells[column].map { Self.weight(column, $0) } ?? 0)
        }
        beside = other.counters.reduce(0) { sum, counter in
            counter.value.keys.reduce(sum) { sum, origin in
                sum + (row.counters[counter.key]?[origin].map { Self.weight(origin, $0) } ?? 0)
            }
        }
    }

    private static func weight(_ column: String, _ cell: Cell) -> Int { column.utf8.count + cell.value.weight }
    private static func weight(_ origin: String, _ total: CounterTotal) -> Int {
        origin.utf8.count + 8 + total.clock.weight
    }

    var objection: SetError? {
        let limit = RowSync.Limit.rowBytes
        if columns > limit { return SetError("tooLarge", "A row may have at most \(limit) bytes, not \(columns).") }
        if beside <= limit { return nil }
        return SetError("tooLarge", "The totals and clocks of a row may have at most \(limit) bytes, not \(beside).")
    }

    static func + (a: Self, b: Self) -> Self { Self(columns: a.columns + b.columns, beside: a.beside + b.beside) }
    static func - (a: Self, b: Self) -> Self { Self(columns: a.columns - b.columns, beside: a.beside - b.beside) }
}
