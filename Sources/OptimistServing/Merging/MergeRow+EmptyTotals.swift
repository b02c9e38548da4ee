// This source file is part of the Optimist open source project, under the MIT licence.

import OptimistWire

extension MergeRow {
    /// The maximum number of zero totals in a counter.
    private static let maxEmptyTotals = 500

    /// Drops the oldest zero totals if there are too many.
    ///
    /// A device that counts while offline leaves a zero total for each of its launches when it moves the counts to its
    /// own id. The zero prevents a copy of the device's file from adding the same counts again. The limit is a number
    /// rather than an age, because the total of a device whose clock is wrong would expire immediately.
    mutating func forgetEmptyTotals() {
        for (column, totals) in counters where totals.count > Self.maxEmptyTotals {
            let empty = totals.filter { $0.value.total == 0 }.sorted { $0.value.clock > $1.value.clock }
            for (origin, _) in empty.dropFirst(Self.maxEmptyTotals) { counters[column]?[origin] = nil }
        }
    }
}
