// This source file is part of the Optimist open source project, under the MIT licence.

import GRDB
import OptimistWire

/// The rows that a resync has not brought again so far: `optimist_unseen`. Empty at all other times.
struct UnseenRows {
    private let layouts: [TableLayout]
    private let removing: RowStatement

    init(of layouts: [TableLayout], in db: Database) throws {
        let waits = try db.cachedStatement(sql: "SELECT EXISTS (SELECT 1 FROM optimist_unseen WHERE tbl = ?)")
        self.layouts = try layouts.filter { try Bool.fetchOne(waits, arguments: [$0.number]) == true }
        removing = try RowStatement("DELETE FROM optimist_unseen WHERE tbl = ? AND id = ?", in: db)
    }

    /// Takes note that a row came.
    func saw(_ row: PageRow) throws {
        guard let layout = layouts.first(where: { $0.name == row.table }), let id = layout.idForm.stored(row.id) else {
            return
        }
        try removing.execute([layout.number.databaseValue, id])
    }
}

extension Store {
    /// How many rows are settled in one transaction, so that the app's writes get their turn.
    private static let rowsAtOnce = 1_000

    /// What the server has no longer, after a resync.
    func massRemoval() async throws -> MassRemoval {
        try await read { db in
            var removal = MassRemoval(rows: [:], total: [:])
            for layout in self.layouts {
                let going = try Int.fetchOne(
                    db,
                    sql: """
                        SELECT count(*) FROM optimist_unseen u JOIN optimist_row r ON r.tbl = u.tbl AND r.id = u.id
                        WHERE u.tbl = ? AND r.pending IS NULL
                        """, arguments: [layout.number])
                guard let going, going > 0 else { continue }
                removal.rows[layout.name] = going
                removal.total[layout.name] = try Int.fetchOne(
                    db, sql: "SELECT count(*) FROM optimist_row WHERE tbl = ? AND generation & 1",
                    arguments: [layout.number])
            }
            return removal
        }
    }

    /// Settles what a resync did not bring again, children before their parents (L4).
    func settleUnseen(_ answer: MassRemoval.Answer) async throws {
        for layout in SnapshotOrder.sorted(layouts).reversed() {
            while try await settleUnseen(of: layout, answer) { try Task.checkCancellation() }
        }
        // What stays is sent.
        writes.send()
    }

    /// Returns whether there may be more.
    private func settleUnseen(of layout: TableLayout, _ answer: MassRemoval.Answer) async throws -> Bool {
        let now = milliseconds
        return try await apply { db in
            let ids = try Row.fetchAll(
                db, sql: "SELECT id FROM optimist_unseen WHERE tbl = ? ORDER BY id LIMIT ?",
                arguments: [layout.number, Self.rowsAtOnce]
            ).map { $0[0] as DatabaseValue }
            var application = PageApplication(
                entries: try RowEntryTable(db), tables: AppTables(self.layouts, db), db: db, now: now)
            let start = try Intake.fetchAll([layout.name], in: db).first?.at.flatMap { SyncState($0)?.seq }
            for id in ids {
                let ref = RowRef(table: layout.number, id: id)
                try application.settleUnseen(ref, in: layout, answer, start: start ?? .max)
                try db.cachedStatement(sql: "DELETE FROM optimist_unseen WHERE tbl = ? AND id = ?")
                    .execute(arguments: [layout.number, id])
            }
            if ids.count == Self.rowsAtOnce { return true }
            try db.execute(
                sql: "UPDATE optimist_table SET snapshot = NULL WHERE number = ? AND isComplete",
                arguments: [layout.number])
            return false
        }
    }
}

extension PageApplication {
    /// A row that is later than the start was sent from here meanwhile, and comes with the changes.
    fileprivate mutating func settleUnseen(
        _ ref: RowRef, in layout: TableLayout, _ answer: MassRemoval.Answer, start: Int64
    ) throws {
        guard var entry = try entries.entry(ref), entry.isAlive, entry.isKnownToServer, entry.seq <= start,
            let table = tables[ref.table]
        else { return }
        if entry.isPending || answer == .keep {
            entry.beginAnew(in: layout)
            return try entries.save(entry)
        }
        try apply(.deleted(Tombstone(generation: entry.generation + 1, clock: nil)), to: ref, in: table)
        // Whoever sends the row again then starts its first life. A row that a constraint holds back is parked.
        if try table.values(ref.id) == nil { try entries.forget(ref) }
    }
}

extension RowEntry {
    /// The server remembers nothing of the row, not even that it was deleted: what is here is sent as a new life, which
    /// stands against whatever another device still has of the old one.
    mutating func beginAnew(in layout: TableLayout) {
        pending = pending ?? confirmed.common?.stamp ?? Stamp(rawValue: 1)
        generation += 2
        acked = 0
        confirmed = ColumnClocks()
        dirty = layout.fullMask
        sent = 0
        base = [:]
        due = nil
        blocked = nil
    }
}
