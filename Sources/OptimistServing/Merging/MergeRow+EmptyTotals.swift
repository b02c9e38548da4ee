// This source file is part of the Optimist open source project, under the MIT licence.

import OptimistWire

extension MergeRow {
    /// The most totals of zero that a counter keeps.
    private static let maxEmptyTotals = 500

    /// Forgets the earliest totals of zero, if there are many.
    ///
    /// A device that counts while it is offline leaves one for each of its launches when it moves the counts to its own
    /// id. It prevents a copy of the device's file from adding the same counts again. Age would not work as a limit:
    /// the total of a device with a wrong clock would be forgotten at once.
    mutating func forgetEmptyTotals() {
        for (column, totals) in counters where totals.count > Self.maxEmptyTotals {
            let empty = totals.filter { $0.value.total == 0 }.sorted { $0.value.clock > $1.value.clock }
            for (origin, _) in empty.dropFirst(Self.maxEmptyTotals) { counters[column]?[origin] = nil }
        }
    }
}
