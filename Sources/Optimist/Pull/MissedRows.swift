// This source file is part of the Optimist open source project, under the MIT licence.

import GRDB
import OptimistWire

/// Rows that a snapshot lacks although a later answer shows that the server had them before the snapshot.
///
/// Another device deleted them in between. Snapshots omit deleted rows, so the device would never learn of the
/// deletion.
struct MissedRows {
    private let layouts: [TableLayout]
    private let db: Database
    private let milliseconds: Int64
    private let isTold: Bool
    private struct Place: Hashable { let scope, table: Int64 }
    private var tableProgress: [Place: TableProgress] = [:]
    private var gone: [Place: [DatabaseValue]] = [:]

    init(_ layouts: [TableLayout], _ db: Database, at milliseconds: Int64) throws {
        isTold = try Meta.guarantees(in: db).tellMissedRows
        self.layouts = layouts
        self.db = db
        self.milliseconds = milliseconds
    }

    /// Checks whether the snapshot missed a row that an answer has settled.
    mutating func look(at entry: RowEntry, before: RowEntry) throws {
        let parked = ParkedRows(db)
        guard isTold, entry.isAlive, entry.isKnownToServer, !before.isKnownToServer,
            let progress = try progress(of: Place(scope: entry.remote.scope, table: entry.ref.table)),
            let snapshot = progress.since,
            entry.remote.seq <= snapshot,
            try !parked.awaitsDeletion(entry.ref),
            try !parked.hasLater(than: entry.remote.seq, of: entry.ref, in: entry.remote.scope)
        else { return }
        if progress.isComplete {
            gone[Place(scope: entry.remote.scope, table: entry.ref.table), default: []].append(entry.ref.id)
        } else {
            try UnseenRows.expect(entry.ref, in: entry.remote.scope, db)
        }
    }

    /// Removes the missed rows. A row with later edits is sent in full instead.
    func settle() throws {
        for layout in layouts {
            for (place, ids) in gone.filter({ $0.key.table == layout.number }).sorted(by: {
                $0.key.scope < $1.key.scope
            }) {
                let isResync = tableProgress[place]?.isResync ?? true
                try UnseenSettling(
                    layouts, ProgressTable(db, of: place.scope), db, start: .max, isResync: isResync, at: milliseconds
                ).settle(ids, of: layout, .remove)
            }
        }
    }

    private mutating func progress(of place: Place) throws -> TableProgress? {
        if let known = tableProgress[place] { return known }
        guard let layout = layouts.first(where: { $0.number == place.table }) else { return nil }
        let progress = try ProgressTable(db, of: place.scope).fetch(layout.name)
        tableProgress[place] = progress
        return progress
    }
}
