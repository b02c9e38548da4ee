// This source file is part of the Optimist open source project, under the MIT licence.

import GRDB
import OptimistWire

/// Rows that the server reports late: it had them before the snapshot of their table, which does not have them.
///
/// Another device has deleted them since. A snapshot has no deleted rows, so the device would never hear of that.
struct MissedRows {
    private let layouts: [TableLayout]
    private let db: Database
    private let milliseconds: Int64
    /// Whether the remote promises what tells that a row was missed.
    private let isTold: Bool
    private var intakes: [Int64: Intake] = [:]
    private var gone: [Int64: [DatabaseValue]] = [:]

    init(_ layouts: [TableLayout], _ db: Database, at milliseconds: Int64) throws {
        isTold = try Meta.guarantees(in: db).tellMissedRows
        self.layouts = layouts
        self.db = db
        self.milliseconds = milliseconds
    }

    /// Looks at a row that an answer has settled.
    mutating func look(at entry: RowEntry, before: RowEntry) throws {
        let parked = ParkedRows(db)
        guard isTold, entry.isAlive, entry.isKnownToServer, !before.isKnownToServer,
            let intake = try intake(of: entry.ref.table), let snapshot = intake.since, entry.seq <= snapshot,
            try !parked.awaitsDeletion(entry.ref), try !parked.hasLater(than: entry.seq, of: entry.ref)
        else { return }
        if intake.isComplete {
            gone[entry.ref.table, default: []].append(entry.ref.id)
        } else {
            try UnseenRows.expect(entry.ref, in: db)
        }
    }

    /// Removes the rows that are gone. Rows that were edited meanwhile are sent whole.
    func settle() throws {
        for layout in layouts {
            guard let ids = gone[layout.number] else { continue }
            let isResync = intakes[layout.number]?.isResync ?? true
            try UnseenSettling(layouts, db, start: .max, isResync: isResync, at: milliseconds)
                .settle(ids, of: layout, .remove)
        }
    }

    private mutating func intake(of table: Int64) throws -> Intake? {
        if let known = intakes[table] { return known }
        guard let layout = layouts.first(where: { $0.number == table }) else { return nil }
        let intake = try Intake.fetchAll([layout.name], in: db).first
        intakes[table] = intake
        return intake
    }
}
