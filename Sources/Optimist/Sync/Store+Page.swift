// This source file is part of the Optimist open source project, under the MIT licence.

import GRDB
import OptimistCore
import OptimistWire

extension Store {
    /// Returns the synced tables that stand at the earliest cursor, that cursor, and whether these are all tables.
    /// No cursor: nothing was received yet.
    func nextPull() async throws -> (tables: [String], cursor: String?, isAll: Bool) {
        let names = layouts.map(\.name)
        return try await read { db in
            let rows = try Row.fetchAll(db, sql: "SELECT name, cursor FROM optimist_table ORDER BY number")
            let cursors = rows.map { (name: $0[0] as String, cursor: $0[1] as String?) }.filter {
                names.contains($0.name)
            }
            let known = cursors.compactMap(\.cursor)
            let earliest =
                known.count < cursors.count ? nil : known.min { (SyncState($0)?.seq ?? 0) < (SyncState($1)?.seq ?? 0) }
            let tables = cursors.filter { $0.cursor == earliest }.map(\.name)
            return (tables, earliest, tables.count == cursors.count)
        }
    }

    /// Applies a page and its cursor in one transaction (R1). A page that comes twice or late changes nothing.
    ///
    /// - Returns: Whether the page was the one that follows what is here.
    @discardableResult
    func apply(_ page: Page, to tables: [String], initialCursor: String) async throws -> Bool {
        let now = milliseconds
        return try await apply { db in
            guard try Self.follows(page, tables, initialCursor, in: db) else { return false }
            try db.execute(sql: "PRAGMA defer_foreign_keys = ON")
            var application = PageApplication(
                entries: try RowEntryTable(db), tables: AppTables(self.layouts, db), db: db, now: now)
            try application.retryParked()
            for row in page.rows {
                if case .row(let patch) = row.content { self.witness(patch.clocks) }
                try application.apply(row)
            }
            for table in tables {
                try db.execute(
                    sql: "UPDATE optimist_table SET cursor = ? WHERE name = ?", arguments: [page.cursor, table])
            }
            try Meta.set(.lastSync, to: now, in: db)
            return true
        }
    }

    private static func follows(_ page: Page, _ tables: [String], _ initialCursor: String, in db: Database) throws
        -> Bool
    {
        try tables.allSatisfy { table in
            let cursor = try String.fetchOne(
                db, sql: "SELECT cursor FROM optimist_table WHERE name = ?", arguments: [table])
            return (cursor ?? initialCursor) == page.from
        }
    }

    /// Starts receiving from the beginning, after the server forgot the cursor. Nothing pending is touched.
    func forgetCursors() async throws {
        try await apply { db in
            try db.execute(sql: "UPDATE optimist_table SET cursor = NULL; UPDATE optimist_row SET seq = 0")
        }
    }

    /// Binds the file to an account, or checks that it is the one that it is bound to (L2).
    ///
    /// - Throws: `OptimistError` with code `otherAccount`.
    func bind(to account: String) async throws {
        try await apply { db in
            switch try Meta.string(.account, in: db) {
            case nil: try Meta.set(.account, to: account, in: db)
            case account: break
            default:
                throw OptimistError(
                    .otherAccount,
                    "This file holds the data of another account. Open a file of its own for each account.",
                    remedy: .signIn)
            }
        }
    }
}

/// Applies the rows of one page.
private struct PageApplication {
    var entries: RowEntryTable
    let tables: AppTables
    let db: Database
    let now: Int64

    mutating func apply(_ row: PageRow) throws {
        guard let table = tables[row.table], let id = table.layout.idForm.stored(row.id) else { return }
        let ref = RowRef(table: table.layout.number, id: id)
        let known = try entries.entry(ref)
        var entry = known ?? RowEntry(ref: ref, generation: 0)
        let reception =
            switch row.content {
            case .row(let patch): try entry.receive(patch, in: table.layout, quote: table.quote)
            case .deleted(let tombstone): entry.receive(tombstone)
            }
        try keep(reception.lost, of: ref, in: table)
        do {
            try table.make(reception.change, at: id)
        } catch let error as DatabaseError where error.resultCode == .SQLITE_CONSTRAINT {
            return try park(row, ref, reason: error.message ?? "a constraint of the table")
        }
        if entry != known { try entries.save(entry) }
    }

    private func keep(_ lost: Int64, of ref: RowRef, in table: AppTable) throws {
        guard lost != 0, let values = try table.values(ref.id) else { return }
        let mine = JSONObject(table.layout.columns(in: lost).map { ($0.name, values[$0.name] ?? .null) })
        try Journal(db).record(ref, reason: .deleted, mine: mine, at: now)
    }

    /// One row never fails a page (R4): it waits beside the table until a later page makes it fit.
    private func park(_ row: PageRow, _ ref: RowRef, reason: String) throws {
        let (content, seq): (JSON, Int64) =
            switch row.content {
            case .row(let patch): (.object(patch.json(id: row.id)), patch.seq ?? 0)
            case .deleted(let tombstone): (tombstone.json, tombstone.seq ?? 0)
            }
        try db.execute(
            sql: "INSERT OR REPLACE INTO optimist_parked(tbl, id, seq, row, reason) VALUES (?, ?, ?, ?, ?)",
            arguments: [ref.table, ref.id, seq, content.description, reason])
    }

    mutating func retryParked() throws {
        let parked = try Row.fetchAll(db.cachedStatement(sql: "SELECT tbl, id, row FROM optimist_parked ORDER BY seq"))
        for row in parked {
            let ref = RowRef(table: row[0], id: row[1])
            guard let layout = tables[ref.table]?.layout, let id = layout.idForm.wire(ref.id),
                let json = try? JSON(parsing: (row[2] as String).utf8)
            else { continue }
            let content: PageRow.Content? =
                json["id"] != nil
                ? json.object.flatMap { RowPatch(json: $0) }.map(PageRow.Content.row)
                : Tombstone(json: json).map(PageRow.Content.deleted)
            try db.execute(
                sql: "DELETE FROM optimist_parked WHERE tbl = ? AND id = ?", arguments: [ref.table, ref.id])
            if let content { try apply(PageRow(table: layout.name, id: id, content: content)) }
        }
    }
}
