// This source file is part of the Optimist open source project, under the MIT licence.

import GRDB
import OptimistCore
import OptimistWire

extension Store {
    /// Returns the synced tables that stand at the earliest cursor, that cursor, and whether these are all tables.
    /// No cursor: nothing was received yet.
    ///
    /// - Parameter served: The tables that the remote keeps. Nil: all.
    func nextPull(of served: Set<String>? = nil) async throws -> (tables: [String], cursor: String?, isAll: Bool) {
        let names = layouts.map(\.name).filter { served?.contains($0) ?? true }
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
    /// Foreign keys are checked at the end, since a page may bring a child before its parent. If they do not hold then,
    /// the page is applied once more with each row checked at once, so that the rows at fault are parked alone (R4).
    ///
    /// - Returns: Whether the page was the one that follows what is here.
    @discardableResult
    func apply(_ page: Page, to tables: [String], initialCursor: String) async throws -> Bool {
        do {
            return try await apply(page, to: tables, initialCursor: initialCursor, defersForeignKeys: true)
        } catch let error as DatabaseError where error.resultCode == .SQLITE_CONSTRAINT {
            return try await apply(page, to: tables, initialCursor: initialCursor, defersForeignKeys: false)
        }
    }

    private func apply(_ page: Page, to tables: [String], initialCursor: String, defersForeignKeys: Bool) async throws
        -> Bool
    {
        let now = milliseconds
        return try await apply { db in
            guard try Self.follows(page, tables, initialCursor, in: db) else { return false }
            try db.execute(sql: "PRAGMA defer_foreign_keys = \(defersForeignKeys ? "ON" : "OFF")")
            var application = PageApplication(
                entries: try RowEntryTable(db), tables: AppTables(self.layouts, db), db: db, now: now,
                device: try DeviceIdentity.current(in: db))
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
    let device: String

    mutating func apply(_ row: PageRow) throws {
        guard let table = tables[row.table], let id = table.layout.idForm.stored(row.id) else { return }
        try apply(row.content, to: RowRef(table: table.layout.number, id: id), in: table)
    }

    private mutating func apply(_ content: PageRow.Content, to ref: RowRef, in table: AppTable) throws {
        let known = try entries.entry(ref)
        var entry = known ?? RowEntry(ref: ref, generation: 0)
        let reception =
            switch content {
            case .row(let patch): try entry.receive(patch, device: device, in: table.layout, quote: table.quote)
            case .deleted(let tombstone): entry.receive(tombstone, device: device, in: table.layout)
            }
        let loss = try known.flatMap { try Journal.Loss(reception.lost, of: $0, by: reception.change, in: table) }
        do {
            try table.make(reception.change, at: ref.id, keeping: reception.kept)
        } catch let error as DatabaseError where error.resultCode == .SQLITE_CONSTRAINT {
            return try park(content, ref, in: table, reason: error.message)
        }
        if let loss { try Journal(db).record(loss, of: ref, at: now) }
        if entry != known { try entries.save(entry) }
    }

    /// One row never fails a page (R4): it waits beside the table until a later page makes it fit.
    private func park(_ content: PageRow.Content, _ ref: RowRef, in table: AppTable, reason: String?) throws {
        switch content {
        case .row(let patch):
            let row = patch.json(id: table.layout.idForm.wire(ref.id))
            try ParkedRows(db).park(row, ref, seq: patch.seq ?? 0, reason: reason)
        case .deleted(let tombstone):
            guard let row = tombstone.json.object else { return }
            try ParkedRows(db).park(row, ref, seq: tombstone.seq ?? 0, reason: reason)
        }
    }

    mutating func retryParked() throws {
        for (ref, content) in try ParkedRows(db).takeAll() {
            if let table = tables[ref.table] { try apply(content, to: ref, in: table) }
        }
    }
}
