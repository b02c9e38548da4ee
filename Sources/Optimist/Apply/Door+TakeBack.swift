// This source file is part of the Optimist open source project, under the MIT licence.

import GRDB
import OptimistWire

/// Returns pending rows to the server's versions (V5).
extension Door {
    /// Returns rows to the server's versions, each as far as the app's constraints allow. The server's values that do not fit
    /// are parked. The rows that exchange unique values fit when the parked rows are tried together.
    ///
    /// A row that would be deleted with one of these rows is not treated as a row below it. If a row was taken back already and
    /// is below a row that is removed, it waits until that row is received again.
    ///
    /// - Parameter device: The id under which this device stamped what was unsent.
    /// - Returns: The rows that cannot be removed, unchanged, each with the reason.
    mutating func takeBack(
        _ rows: [TakenBack], device: String
    ) throws -> [(row: TakenBack, reason: DatabaseError)] {
        var stuck: [(row: TakenBack, reason: DatabaseError)] = []
        var rest = Set(rows.map(\.entry.ref))
        for row in references.order(rows) {
            let passage = Passage(
                before: row.before, entry: row.entry, rendering: row.rendering, deletion: .takenBack(sparing: rest))
            if let obstacle = try obstacle(to: passage) {
                if row.isUnknown {
                    // The row will be received again. It stays in the app's table as it is until then.
                    try entries.save(row.entry)
                } else if row.change == .delete {
                    stuck.append((row, obstacle))
                } else {
                    _ = try setAside(passage, ParkedReason(obstacle), device: device)
                }
            }
            // The row is now in the table in its final state, so it is deleted if the row that it refers to there is deleted.
            rest.remove(row.entry.ref)
        }
        unknown += rows.filter(\.isUnknown).map(\.entry.ref)
        return stuck
    }
}
