// This source file is part of the Optimist open source project, under the MIT licence.

import GRDB
import OptimistWire

/// Rows that the server puts off until another row arrives, which never will.
///
/// What the app's table has refers to rows that are here. But a row that heals may go to the server with another reference
/// than the user's edited one, if that is later. What it refers to may be gone, and the server may have forgotten that.
extension Booking {
    /// Lets an edited reference stand again if what won against it is gone (L4). The row may then be sent at once.
    func standAgain(_ entry: inout RowEntry, besides parent: String, in table: AppTable) throws {
        guard let owner = tables.ref(named: parent), let owners = tables[owner.table], try isGone(owner, from: owners),
            let stamp = entry.standAgain(
                besides: owner, of: owners.layout.name, device: batch.push.device, in: table.layout)
        else { return }
        entry.due = nil
        entry.blocked = nil
        try db.witness(stamp)
    }

    /// Whether nothing that is known can bring a row: it is deleted here, or nothing is known of it, and all of its table was
    /// received.
    private func isGone(_ ref: RowRef, from table: AppTable) throws -> Bool {
        if let entry = try entries.entry(ref), entry.isAlive || entry.isPending { return false }
        if try table.contains(ref.id) || ParkedRows(db).contains(ref) { return false }
        return try Intake.fetchAll([table.layout.name], in: db).allSatisfy(\.isComplete)
    }
}
