// This source file is part of the Optimist open source project, under the MIT licence.

import GRDB
import OptimistWire

/// Applies received rows to the app's tables, within one transaction.
///
/// Rows are put before others are deleted, so that a child that has moved is not taken along with its former parent.
/// Foreign keys are checked when all rows are there: a page may bring a child before its parent, and rows that refer to
/// each other. If they do not hold then, the rows are taken once more one by one. What does not fit is parked (R4).
struct PageApplication {
    private let layouts: [TableLayout]
    private let db: Database
    private let milliseconds: Int64

    init(_ layouts: [TableLayout], _ db: Database, at milliseconds: Int64) {
        self.layouts = layouts
        self.db = db
        self.milliseconds = milliseconds
    }

    func apply(_ rows: [PageRow]) throws {
        try forgetParked(rows)
        var isWhole = false
        try db.execute(sql: "PRAGMA defer_foreign_keys = ON")
        try db.inSavepoint {
            var rowByRow = try RowApplication(layouts, db, at: milliseconds)
            var misfits: [ReceivedRow] = []
            for row in rowByRow.inOrder(rows) {
                do { try rowByRow.apply(row) } catch let error as DatabaseError where error.isConstraint {
                    misfits.append(row)
                }
            }
            isWhole = db.holdsForeignKeys
            guard isWhole else { return .rollback }
            var fitting = Fitting(rowByRow, db)
            try fitting.fit(misfits)
            return .commit
        }
        try db.execute(sql: "PRAGMA defer_foreign_keys = OFF")
        if isWhole { return }
        let rowByRow = try RowApplication(layouts, db, at: milliseconds)
        var fitting = Fitting(rowByRow, db)
        try fitting.fit(rowByRow.inOrder(rows))
    }

    /// A later version of a parked row takes its place.
    private func forgetParked(_ rows: [PageRow]) throws {
        let parked = ParkedRows(db)
        if try parked.isEmpty { return }
        for row in try RowApplication(layouts, db, at: milliseconds).inOrder(rows) { try parked.remove(row.ref) }
    }

    /// Tries the parked rows again, after something has gone that may have stood in their way.
    func retryParked() throws {
        if try ParkedRows(db).isEmpty { return }
        var fitting = Fitting(try RowApplication(layouts, db, at: milliseconds), db)
        try fitting.fit([])
    }
}

/// A row as the server has it, with its name in this database.
struct ReceivedRow: Sendable {
    let ref: RowRef
    let content: PageRow.Content
}

/// Decides and applies one received row after another.
struct RowApplication {
    private var entries: RowEntryTable
    let tables: AppTables
    let references: ReferenceGraph
    private let db: Database
    private let milliseconds: Int64
    private var isAnythingPending: Bool?

    init(_ layouts: [TableLayout], _ db: Database, at milliseconds: Int64) throws {
        entries = try RowEntryTable(db)
        tables = AppTables(layouts, db)
        references = ReferenceGraph(layouts)
        self.db = db
        self.milliseconds = milliseconds
    }

    /// The rows whose tables are known here: parents before children, and what is deleted at the end, the other way round.
    func inOrder(_ rows: [PageRow]) -> [ReceivedRow] {
        var put: [ReceivedRow] = []
        var deleted: [ReceivedRow] = []
        put.reserveCapacity(rows.count)
        for row in rows {
            guard let table = tables[row.table], let id = table.layout.idForm.stored(row.id) else { continue }
            let received = ReceivedRow(ref: RowRef(table: table.layout.number, id: id), content: row.content)
            if case .row = row.content { put.append(received) } else { deleted.append(received) }
        }
        return put + deleted.sorted { rank($0) > rank($1) }
    }

    func rank(_ row: ReceivedRow) -> Int { references.ranks[row.ref.table] ?? 0 }

    /// - Throws: `DatabaseError` of a constraint, and then the row is as it was.
    mutating func apply(_ row: ReceivedRow) throws {
        guard let table = tables[row.ref.table] else { return }
        let known = try entries.entry(row.ref)
        var entry = known ?? RowEntry(ref: row.ref, generation: 0)
        let reception =
            switch row.content {
            case .row(let patch): try entry.receive(patch, in: table.layout, quote: table.quote)
            case .deleted(let tombstone): entry.receive(tombstone)
            }
        let mine = try table.values(row.ref.id, in: reception.lost)
        try make(reception.change, of: row, in: table)
        if let mine { try Journal(db).record(row.ref, reason: .deleted, mine: mine, at: milliseconds) }
        if entry != known { try entries.save(entry) }
    }

    private mutating func make(_ change: RowChange, of row: ReceivedRow, in table: AppTable) throws {
        switch change {
        case .delete:
            if case .deleted(let tombstone) = row.content, let winner = tombstone.mergedInto,
                let id = table.layout.idForm.stored(winner)
            {
                try Mergers(tables, references, db).repoint(from: row.ref, to: id)
            }
            if try anythingIsPending() {
                var cascade = ReceivedCascade(entries, tables, references, db, at: milliseconds)
                try cascade.prepare(deletionOf: row.ref)
                entries = cascade.entries
            }
            try table.make(change, at: row.ref.id)
        case .set:
            try table.make(change, at: row.ref.id)
            // A cascade of this device's own may have taken the row: the server has it still.
            guard db.changesCount == 0, case .row(let patch) = row.content, patch.seq != nil else { return }
            try table.make(.put(patch.values), at: row.ref.id)
        case .none, .put: try table.make(change, at: row.ref.id)
        }
    }

    private mutating func anythingIsPending() throws -> Bool {
        if let known = isAnythingPending { return known }
        let found =
            try Bool.fetchOne(db, sql: "SELECT EXISTS (SELECT 1 FROM optimist_row WHERE pending IS NOT NULL)") ?? true
        isAnythingPending = found
        return found
    }
}

extension DatabaseError {
    var isConstraint: Bool { resultCode == .SQLITE_CONSTRAINT }
}
