// This source file is part of the Optimist open source project, under the MIT licence.

import GRDB
import OptimistWire

/// The rows that a snapshot is expected to bring and has not brought so far: `optimist_unseen`. Empty at all other times.
///
/// These are all that the server is known to have had: before a resync, and before a first sync what was sent from here by
/// then. Snapshots have no deleted rows, so what does not come was deleted.
struct UnseenRows {
    private let layouts: [TableLayout]
    private let removing: RowStatement

    init(of layouts: [TableLayout], in db: Database) throws {
        let waits = try db.cachedStatement(sql: "SELECT EXISTS (SELECT 1 FROM optimist_unseen WHERE tbl = ?)")
        self.layouts = try layouts.filter { try Bool.fetchOne(waits, arguments: [$0.number]) == true }
        removing = try RowStatement("DELETE FROM optimist_unseen WHERE tbl = ? AND id = ?", in: db)
    }

    /// Expects every row of a table that the server is known to have had, those that are parked too.
    static func expectAll(of table: String, in db: Database) throws {
        try db.execute(
            sql: """
                INSERT OR IGNORE INTO optimist_unseen SELECT tbl, id FROM optimist_row
                WHERE tbl = (SELECT number FROM optimist_table WHERE name = ?1) AND acked > 0 AND generation & 1
                UNION SELECT tbl, id FROM optimist_parked
                WHERE tbl = (SELECT number FROM optimist_table WHERE name = ?1)
                """, arguments: [table])
    }

    /// Expects a row.
    static func expect(_ ref: RowRef, in db: Database) throws {
        try db.execute(
            sql: "INSERT OR IGNORE INTO optimist_unseen(tbl, id) VALUES (?, ?)", arguments: [ref.table, ref.id])
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
            for layout in self.layouts where try Self.isThrough(layout, in: db) {
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

    /// Whether a resync of a table has come to its end. That of another one may wait, as on an expensive network.
    private static func isThrough(_ layout: TableLayout, in db: Database) throws -> Bool {
        try Intake.fetchAll([layout.name], in: db).contains { $0.isComplete && $0.at != nil }
    }

    /// Settles what a resync did not bring again, children before their parents (L4).
    ///
    /// - Parameter served: The tables that the remote keeps. Nil: all.
    func settleUnseen(_ answer: MassRemoval.Answer, served: Set<String>? = nil) async throws {
        for layout in SnapshotOrder.sorted(layouts).reversed() {
            while try await settleUnseen(of: layout, answer, served) { try Task.checkCancellation() }
        }
        // What stays is sent.
        writes.send()
    }

    /// Returns whether there may be more.
    private func settleUnseen(
        of layout: TableLayout, _ answer: MassRemoval.Answer, _ served: Set<String>?
    ) async throws -> Bool {
        let now = milliseconds
        return try await apply { db in
            guard try Self.isThrough(layout, in: db) else { return false }
            let ids = try Row.fetchAll(
                db, sql: "SELECT id FROM optimist_unseen WHERE tbl = ? ORDER BY id LIMIT ?",
                arguments: [layout.number, Self.rowsAtOnce]
            ).map { $0[0] as DatabaseValue }
            let intake = try Intake.fetchAll([layout.name], in: db).first
            let start = intake?.at.flatMap { SyncState($0)?.seq }
            try UnseenSettling(
                self.layouts, db, start: start ?? .max, isResync: intake?.isResync ?? true, served: served, at: now
            ).settle(ids, of: layout, answer)
            for id in ids {
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

/// Removes rows that a snapshot did not bring. One with unsent edits stays, and is sent.
struct UnseenSettling {
    private let layouts: [TableLayout]
    private let db: Database
    private let start: Int64
    private let isResync: Bool
    private let served: Set<String>?
    private let milliseconds: Int64

    /// - Parameters:
    ///   - start: A row that is later than this was sent from here meanwhile, and comes with the changes.
    ///   - isResync: Whether the server may have forgotten that a row was deleted. If not, it ends what is unsent of that (M2).
    ///   - served: The tables that the remote keeps. Nil: all.
    init(
        _ layouts: [TableLayout], _ db: Database, start: Int64, isResync: Bool, served: Set<String>? = nil,
        at milliseconds: Int64
    ) {
        self.layouts = layouts
        self.db = db
        self.start = start
        self.isResync = isResync
        self.served = served
        self.milliseconds = milliseconds
    }

    func settle(_ ids: [DatabaseValue], of layout: TableLayout, _ answer: MassRemoval.Answer) throws {
        var entries = try RowEntryTable(db)
        let (table, parked) = (AppTable(layout: layout, db: db), ParkedRows(db))
        var going: [ReceivedRow] = []
        for id in ids {
            let ref = RowRef(table: layout.number, id: id)
            // An answer may have told of the row's end since, which no page tells again.
            if try parked.hasLater(than: start, of: ref) {
                if answer == .remove { continue }
            } else {
                try parked.remove(ref)
            }
            guard var entry = try entries.entry(ref), entry.isAlive, entry.isKnownToServer, !entry.isHealing,
                entry.seq <= start
            else { continue }
            // Of what is not here nothing can be kept.
            if answer == .keep, try table.contains(id) {
                entry.beginAnew(in: layout)
                try entries.save(entry)
            } else if entry.isPending {
                entry.goOnMissing(isResync: isResync, in: layout)
                try entries.save(entry)
            } else {
                let tombstone = Tombstone(generation: entry.generation + 1, clock: nil)
                going.append(ReceivedRow(ref: ref, content: .deleted(tombstone)))
            }
        }
        try PageApplication(layouts, db, at: milliseconds, horizon(of: layout)).apply(going)
    }

    private func horizon(of layout: TableLayout) throws -> Horizon {
        // Of what answers have told since the last page, only the next one says what becomes of the rows below.
        var horizon = Horizon(hasMore: try ParkedRows(db).holdsDeletionsBack)
        if let cursor = try Intake.fetchAll([layout.name], in: db).first?.cursor {
            horizon.lagging = try Intake.lagging(behind: cursor, of: layouts, served: served, in: db)
        }
        return horizon
    }

    /// Keeps the rows that the user has edited while their removal had to wait: they are sent whole, as if they had been edited
    /// before (L4). Called before rows are removed, and before any are sent.
    static func keepEdited(_ layouts: [TableLayout], _ db: Database) throws {
        let parked = ParkedRows(db)
        if try parked.isEmpty { return }
        let missing = try parked.editedWithoutVersion().filter(\.isMissing)
        if missing.isEmpty { return }
        var entries = try RowEntryTable(db)
        for row in missing {
            guard let layout = layouts.first(where: { $0.number == row.ref.table }),
                var entry = try entries.entry(row.ref), entry.isAlive, entry.generation < row.content.version.life
            else { continue }
            try parked.remove(row.ref)
            guard entry.isKnownToServer, !entry.isHealing else { continue }
            let isResync = try Intake.fetchAll([layout.name], in: db).first?.isResync ?? true
            entry.goOnMissing(isResync: isResync, in: layout)
            try entries.save(entry)
        }
    }
}
