// This source file is part of the Optimist open source project, under the MIT licence.

import Optimist
import OptimistWire

/// Merges pushed rows by the devices' clocks or in the order of arrival.
extension ExpectedRows {
    var mergePromise: RemotePromise { merging == .byClock ? .mergesByClock : .mergesByTransaction }

    /// Returns a finding if a remote without clocks sends clocks.
    func sentClocks(_ patch: RowPatch, of key: ConformanceKey) -> ConformanceFinding? {
        guard merging == .byTransaction, patch.clocks?.latest != nil else { return nil }
        return ConformanceFinding(
            .mergesByTransaction, "\(key) has clocks, which devices prefer to transactions.")
    }

    /// A clock that follows the order of arrival.
    ///
    /// - Parameter isChangedByRemote: Whether the remote replaced the value.
    func clock(_ drawn: DrawnRow, isChangedByRemote: Bool = false) -> WriteClock {
        WriteClock(stamp: Stamp(rawValue: 2 * drawn.arrival + (isChangedByRemote ? 1 : 0)), device: "arrival")
    }

    func incoming(_ drawn: DrawnRow) -> MergeRow {
        let pushed = drawn.row
        switch pushed.change {
        case .delete(let tombstone): return MergeRow(generation: tombstone.generation, deletion: tombstone.clock)
        case .create(let patch), .update(let patch), .move(_, let patch, _):
            var row = MergeRow(generation: patch.generation ?? 1)
            for (column, value) in patch.values {
                guard let sent = patch.clocks?[column] else { continue }
                let clock = merging == .byClock ? sent : self.clock(drawn)
                if counters[pushed.table]?.contains(column) == true,
                    case .totals(let totals) = CounterPatch(json: value)
                {
                    for total in totals {
                        row.counters[column, default: [:]][total.origin ?? sent.device] =
                            CounterTotal(total.total, merging == .byClock ? total.clock ?? sent : clock)
                    }
                } else {
                    row.cells[column] = Cell(value, clock)
                }
            }
            return row
        }
    }
}
