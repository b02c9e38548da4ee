// This source file is part of the Optimist open source project, under the MIT licence.

import GRDB
import OptimistWire

extension Store {
    /// Undoes all unsent changes in one transaction, and forgets them. New rows are removed, and edited rows return to the
    /// server's values. Deleted rows are received again at the next sync, with the rows that the server has below them.
    ///
    /// If a change was sent but not answered, it may have reached the server; it then comes back. Rejections stay. Use this in
    /// an app that does not want the rows written before the first sign-in, or when the user signs out without them.
    ///
    /// - Returns: How many rows were pending.
    /// - Throws: `DatabaseError`, for example if the app's own tables refer to a row that would be removed. Nothing is changed
    ///   then.
    @discardableResult
    public func discardPending() async throws -> Int {
        try await apply { db in
            var discard = try Discard(self.layouts, db)
            let count = try discard.collect()
            try discard.undo()
            for table in discard.incomplete.sorted() { try Self.startResync(of: table, mayBeForgotten: false, in: db) }
            // The verdicts of a push in flight concern edits that no longer exist.
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

    /// Determines how to undo each pending row. Returns how many rows are pending.
    mutating func collect() throws -> Int {
        let pending = try RowEntryTable.unsent(db)
        for ref in pending { try collect(ref) }
        return pending.count
    }

    private mutating func collect(_ ref: RowRef) throws {
        guard let table = tables[ref.table], let before = try entries.entry(ref) else { return }
        var entry = before
        let values = try table.values(ref.id)
        // Forgets a row that cannot be undone by itself. A row that was deleted and then created again would stay unsent. If a
        // life is removed, the rows that the server has below that row are not on this device.
        guard let taken = entry.takeBack(values ?? [:], current: nil, isLost: true, in: table.layout), !entry.isPending,
            taken.rendering.change == .delete ? !entry.isAlive : values != nil
        else { return try forget(ref) }
        rows.append(
            TakenBack(
                entry: entry, before: before, kind: taken.kind, change: taken.rendering.change, mine: taken.mine))
    }

    // MARK: - Undoing

    /// Undoes all rows together, including rows that exchange the values of a unique index. If that fails, undoes them row by
    /// row.
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

    /// A row cannot return to the server's values while they refer to a row that the user deleted and only the server has. Both
    /// rows are then received again.
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

    /// Removes a row and the rows that refer to it. The device receives all of them again, as far as the server has them.
    private mutating func forget(_ ref: RowRef) throws {
        guard let table = tables[ref.table] else { return }
        let entry = try entries.entry(ref)
        try entries.forget(ref)
        if entry.map({ $0.remote.generation > 0 || $0.remote.seq > 0 }) == true { incomplete.insert(table.layout.name) }
        for child in try tables.children(of: ref, references) where try entries.entry(child.ref) != nil {
            try forget(child.ref)
        }
        try table.make(.delete, at: ref.id)
    }
}
