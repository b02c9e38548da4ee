// This source file is part of the Optimist open source project, under the MIT licence.

import GRDB
import OptimistWire

extension Store {
    /// Undoes all unsent changes, in one transaction, and forgets them. New rows go, edited rows return to what the
    /// server has, and deleted rows are received again at the next sync, with the rows that the server has below them.
    ///
    /// A change that was sent without an answer may have arrived; it then comes back. Rejections stay. For an app that
    /// does not want the rows written before the first sign-in, or whose user signs out without them.
    ///
    /// - Returns: How many rows were pending.
    /// - Throws: `DatabaseError`, and nothing is changed, as when the app's own tables refer to a row that would go.
    @discardableResult
    public func discardPending() async throws -> Int {
        try await apply { db in
            var discard = try Discard(self.layouts, db)
            let count = try discard.collect()
            try discard.undo()
            for table in discard.incomplete.sorted() { try Self.startResync(of: table, mayBeForgotten: false, in: db) }
            // The verdicts of a push in flight speak of rows that are no longer there.
            try Meta.set(.inFlight, to: nil, in: db)
            try GroupJoins(db).forgetSettled()
            return count
        }
    }
}

/// Undoes pending rows within one transaction.
private struct Discard {
    private var entries: RowEntryTable
    private let tables: AppTables
    private let references: ReferenceGraph
    private let db: Database
    /// The tables with rows that must be received again.
    private(set) var incomplete: Set<String> = []
    private var rows: [TakenBack] = []

    init(_ layouts: [TableLayout], _ db: Database) throws {
        entries = try RowEntryTable(db)
        tables = AppTables(layouts, db)
        references = ReferenceGraph(layouts)
        self.db = db
    }

    /// Finds out what undoes each pending row. Returns how many there are.
    mutating func collect() throws -> Int {
        let pending = try Row.fetchAll(
            db, sql: "SELECT tbl, id FROM optimist_row WHERE pending IS NOT NULL ORDER BY pending, key")
        for row in pending { try collect(RowRef(table: row[0], id: row[1])) }
        return pending.count
    }

    private mutating func collect(_ ref: RowRef) throws {
        guard let table = tables[ref.table], let before = try entries.entry(ref) else { return }
        var entry = before
        let values = try table.values(ref.id)
        // A row that was deleted before it was created again would stay unsent, and the rows that the server has below
        // a life that goes are not here.
        guard let taken = entry.takeBack(values ?? [:], current: nil, isLost: true, in: table.layout), !entry.isPending,
            taken.change == .delete ? !entry.isAlive : values != nil
        else { return try forget(ref) }
        rows.append(
            TakenBack(entry: entry, before: before, kind: taken.kind, change: taken.change, mine: taken.mine))
    }

    // MARK: - Undoing

    /// Undoes all of it together, for rows that exchange the values of a unique index too, or else row by row.
    mutating func undo() throws {
        let ordered = references.order(rows)
        let fits =
            try db.keepingWhatFits { try make(ordered) }
            || db.keepingWhatFits { try make(ordered, vacating: true) }
        if !fits { return try undoSingly(ordered) }
        for row in ordered { try entries.save(row.entry) }
    }

    private func make(_ rows: [TakenBack], vacating: Bool = false) throws {
        let vacancy = try Vacancy(of: vacating ? rows.map(\.entry.ref) : [], in: tables, db)
        for row in rows { try tables[row.entry.ref.table]?.make(row.change, at: row.entry.ref.id) }
        try vacancy.restore()
    }

    /// A row cannot be as the server has it while it refers to a row that is not here, because the user deleted that
    /// one and only the server has it: both are received again.
    private mutating func undoSingly(_ ordered: [TakenBack]) throws {
        for row in ordered where row.change != .delete {
            guard try entries.entry(row.entry.ref) != nil else { continue }
            if try db.keepingWhatFits({ try make([row]) }) {
                try entries.save(row.entry)
            } else {
                try forget(row.before.ref)
            }
        }
        let removed = try ordered.filter { try $0.change == .delete && entries.entry($0.entry.ref) != nil }
        try db.deferringForeignKeys { try make(removed) }
        for row in removed { try entries.save(row.entry) }
    }

    /// Removes a row, and the rows that refer to it, so that all of them are received again as far as the server has
    /// them.
    private mutating func forget(_ ref: RowRef) throws {
        guard let table = tables[ref.table] else { return }
        let entry = try entries.entry(ref)
        try entries.forget(ref)
        if entry.map({ $0.acked > 0 }) == true { incomplete.insert(table.layout.name) }
        for referrer in references.referrers(to: table.layout.name) {
            guard let children = tables[referrer.layout.number] else { continue }
            for id in try children.ids(where: [referrer.column], are: [ref.id]) {
                let child = RowRef(table: referrer.layout.number, id: id)
                if try entries.entry(child) != nil { try forget(child) }
            }
        }
        try table.make(.delete, at: ref.id)
    }
}
