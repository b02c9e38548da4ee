// This source file is part of the Optimist open source project, under the MIT licence.

import OptimistWire

extension MergeRow {
    /// Forgets totals that have been nothing for long.
    ///
    /// A device that counts while it is offline leaves one for each of its launches, when it moves what it counted to its own
    /// id. It says that a copy of the device's file is not to count that once more, and is remembered for as long as such a
    /// copy is noticed by its push number. The latest total stays: its clock is the column's.
    mutating func forgetEmptyTotals(at milliseconds: Int64) {
        let oldest = milliseconds - Int64(Expiry.pushDays) * 86_400_000
        func isOver(_ total: CounterTotal) -> Bool { total.total == 0 && total.clock.stamp.milliseconds < oldest }
        for (column, totals) in counters where totals.values.contains(where: isOver) {
            let latest = totals.values.map(\.clock).max()
            counters[column] = totals.filter { !isOver($0.value) || $0.value.clock == latest }
        }
    }
}
