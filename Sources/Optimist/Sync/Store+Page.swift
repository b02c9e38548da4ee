// This source file is part of the Optimist open source project, under the MIT licence.

import GRDB
import OptimistCore
import OptimistWire

extension Store {
    /// Applies a page and its cursor in one transaction (R1). A page that comes twice or late changes nothing.
    ///
    /// - Returns: Whether the page was the one that follows what is here.
    @discardableResult
    func apply(_ page: Page, to tables: [String], initialCursor: String) async throws -> Bool {
        try await receive(
            page.rows,
            if: { db in
                try Intake.fetchAll(tables, in: db).allSatisfy { ($0.cursor ?? initialCursor) == page.from }
            },
            then: { db in
                let counts = page.rows.reduce(into: [:]) { $0[$1.table, default: 0] += 1 }
                for table in tables {
                    try Intake.advance(table, to: page.cursor, rows: counts[table] ?? 0, isEnd: !page.hasMore, in: db)
                }
            })
    }

    /// Applies rows of the server's, and whatever records how far they reach, in one transaction.
    ///
    /// Foreign keys are checked at the end, since a page may bring a child before its parent. If they do not hold then,
    /// the rows are applied once more with each one checked at once, so that those at fault are parked alone (R4).
    ///
    /// - Returns: Whether the rows are the ones that follow what is here. Otherwise nothing is changed.
    func receive(
        _ rows: [PageRow], if follows: @escaping @Sendable (Database) throws -> Bool,
        then record: @escaping @Sendable (Database) throws -> Void
    ) async throws -> Bool {
        do {
            return try await receive(rows, defersForeignKeys: true, if: follows, then: record)
        } catch let error as DatabaseError where error.resultCode == .SQLITE_CONSTRAINT {
            return try await receive(rows, defersForeignKeys: false, if: follows, then: record)
        }
    }

    private func receive(
        _ rows: [PageRow], defersForeignKeys: Bool, if follows: @escaping @Sendable (Database) throws -> Bool,
        then record: @escaping @Sendable (Database) throws -> Void
    ) async throws -> Bool {
        let now = milliseconds
        return try await apply { db in
            guard try follows(db) else { return false }
            try db.execute(sql: "PRAGMA defer_foreign_keys = \(defersForeignKeys ? "ON" : "OFF")")
            var application = PageApplication(
                entries: try RowEntryTable(db), tables: AppTables(self.layouts, db), db: db, now: now)
            try application.retryParked()
            let unseen = try UnseenRows(of: self.layouts, in: db)
            for row in rows {
                if case .row(let patch) = row.content { self.witness(patch.clocks) }
                try application.apply(row)
                try unseen.saw(row)
            }
            try record(db)
            try Meta.set(.lastSync, to: now, in: db)
            return true
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
struct PageApplication {
    var entries: RowEntryTable
    let tables: AppTables
    let db: Database
    let now: Int64

    mutating func apply(_ row: PageRow) throws {
        guard let table = tables[row.table], let id = table.layout.idForm.stored(row.id) else { return }
        try apply(row.content, to: RowRef(table: table.layout.number, id: id), in: table)
    }

    mutating func apply(_ content: PageRow.Content, to ref: RowRef, in table: AppTable) throws {
        let known = try entries.entry(ref)
        var entry = known ?? RowEntry(ref: ref, generation: 0)
        let reception =
            switch content {
            case .row(let patch): try entry.receive(patch, in: table.layout, quote: table.quote)
            case .deleted(let tombstone): entry.receive(tombstone)
            }
        let mine = try table.values(ref.id, in: reception.lost)
        do {
            try table.make(reception.change, at: ref.id)
        } catch let error as DatabaseError where error.resultCode == .SQLITE_CONSTRAINT {
            return try park(content, ref, in: table, reason: error.message)
        }
        if let mine { try Journal(db).record(ref, reason: .deleted, mine: mine, at: now) }
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
