// This source file is part of the Optimist open source project, under the MIT licence.

@_spi(Internals) import OptimistWire

extension MergeRow {
    /// Adapts the row to a schema that changes which columns are counters.
    ///
    /// When a column becomes a counter, its value becomes the server's own total, and devices add to it. When a counter
    /// becomes a plain column, its sum becomes the value. Pages show the same number before and after.
    mutating func follow(_ type: TypeSchema) {
        for (column, definition) in type.columns where definition.type == .counter {
            guard let cell = cells.removeValue(forKey: column), let value = cell.value.int else { continue }
            counters[column, default: [:]][ServerClock.device] = CounterTotal(value, cell.clock)
        }
        for (column, totals) in counters where type.columns[column].map({ $0.type != .counter }) == true {
            let value = Cell(
                .int(sum(of: column)),
                totals.values.map(\.clock).max() ?? WriteClock(stamp: .zero, device: ServerClock.device))
            cells[column] = value
            counters[column] = nil
        }
    }
}
