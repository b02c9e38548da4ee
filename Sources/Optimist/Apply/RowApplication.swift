// This source file is part of the Optimist open source project, under the MIT licence.

import GRDB
import OptimistWire

/// Decides about received rows, one after another, and applies them.
struct RowApplication {
    var entries: RowEntryTable
    let tables: AppTables
    let references: ReferenceGraph
    let db: Database
    let context: PageContext
    let milliseconds: Int64
    private let device: String
    let ownDevices: Set<String>
    /// The tables that have no row of this page yet, so that the page's rows need not be looked up.
    private var fresh: Set<Int64> = []
    /// Whether the entries of rows in such tables are collected and written together.
    private var gathersEntries = false
    private var isAnythingUnknown: Bool?
    /// This device's values that deletions of the page have ended unread.
    var endedUnread: [RowRef: UnreadClocks] = [:]
    /// The unique values that are replaced for a moment. The journal must have the original values.
    var vacancy: Vacancy?

    init(_ layouts: [TableLayout], _ db: Database, at milliseconds: Int64, _ context: PageContext) throws {
        entries = try RowEntryTable(db)
        tables = AppTables(layouts, db)
        references = ReferenceGraph(layouts)
        self.db = db
        self.milliseconds = milliseconds
        self.context = context
        device = try DeviceIdentity.current(in: db)
        ownDevices = try DeviceIdentity.all(in: db)
    }

    /// The rows of a page whose tables are known here. Rows that are alive come first, as the page has them, then the
    /// rows that were merged into another one, and then the deleted ones. In each of these two parts, children come
    /// before parents. Within a table, the server names a row before the rows that were deleted with it. In reverse,
    /// SQLite has no cascade to follow, which would be slow for many levels.
    func inOrder(_ rows: some Collection<RemotePage.Row>) -> [ReceivedRow] {
        var put: [ReceivedRow] = []
        var merged: [ReceivedRow] = []
        var deleted: [ReceivedRow] = []
        put.reserveCapacity(rows.count)
        for row in rows {
            guard let table = tables[row.table], let id = table.layout.idForm.stored(row.id) else { continue }
            let received = ReceivedRow(ref: RowRef(table: table.layout.number, id: id), content: row.content)
            switch row.content {
            case .row: put.append(received)
            case .deleted(let tombstone) where tombstone.mergedInto != nil: merged.append(received)
            case .deleted: deleted.append(received)
            }
        }
        if merged.isEmpty, deleted.isEmpty { return put }
        return put + [merged, deleted.reversed()].flatMap { $0.sorted { rank($0) > rank($1) } }
    }

    func rank(_ row: ReceivedRow) -> Int { references.ranks[row.ref.table] ?? 0 }

    /// Finds out, table by table, whether any row of a page is here. In a first sync no row is, and looking up each one
    /// would take a third of the time. If a row comes twice, the rows of its table are looked up.
    mutating func lookAhead(_ rows: [RemotePage.Row]) throws {
        var spans: [Span] = []
        for row in rows {
            if let index = spans.indices.first(where: { spans[$0].table == row.table }) {
                spans[index].extend(to: row.id)
            } else {
                spans.append(Span(table: row.table, first: row.id, last: row.id))
            }
        }
        for span in spans {
            guard let table = tables[span.table], let first = table.layout.idForm.stored(span.first),
                let last = table.layout.idForm.stored(span.last), table.layout.rules.counters.isEmpty,
                try entries.isEmpty(table.layout.number, from: first, to: last),
                try table.isEmpty(from: first, to: last), span.isInOrder || !comesTwice(anyOf: span.table, in: rows)
            else { continue }
            fresh.insert(table.layout.number)
        }
    }

    /// The least and the greatest id that a page has of a table.
    private struct Span {
        let table: String
        var first: String
        var last: String
        /// Whether each id is greater than the one before.
        var isInOrder = true

        mutating func extend(to id: String) {
            if id > last {
                last = id
            } else {
                first = min(first, id)
                isInOrder = false
            }
        }
    }

    private func comesTwice(anyOf table: String, in rows: [RemotePage.Row]) -> Bool {
        var ids: Set<String> = []
        return rows.contains { $0.table == table && !ids.insert($0.id).inserted }
    }

    /// Applies rows, and parks those that must wait. May be called only while no other row is parked.
    ///
    /// - Throws: `DatabaseError` of a constraint. All rows before the one that does not fit are then applied.
    mutating func apply(_ rows: [ReceivedRow]) throws {
        gathersEntries = true
        defer { gathersEntries = false }
        do {
            for row in rows {
                switch try apply(row) {
                case .waiting(let reason): try ParkedRows(db).park(row, reason: reason, awaiting: nil)
                // If the deletion of another row has parked this row, that version is older.
                case .shown: if !row.isAlive { try ParkedRows(db).remove(row.ref) }
                }
            }
        } catch let error as DatabaseError where error.isConstraint {
            try entries.writeFresh()
            throw error
        }
        try entries.writeFresh()
    }

    /// Applies a row, unless it must wait although it breaks no constraint.
    ///
    /// - Throws: `DatabaseError` of a constraint. The row is then as it was.
    mutating func apply(_ row: ReceivedRow) throws -> Placement {
        guard let table = tables[row.ref.table] else { return .shown }
        if case .row(let patch) = row.content, fresh.contains(row.ref.table), !row.hasWaited,
            !table.lacksColumn(in: patch.values)
        {
            try applyFresh(row.ref, patch, in: table)
            return .shown
        }
        try entries.writeFresh()
        let known = try entries.entry(row.ref)
        var entry = known ?? RowEntry(ref: row.ref)
        let rendering =
            switch row.content.tellingUnread(of: ownDevices) {
            case .row(let patch):
                entry.receive(patch, asOf: row.hasWaited ? nil : context.head, device: device, in: table.layout)
            case .deleted(let tombstone): entry.receive(tombstone, device: device, in: table.layout)
            }
        if case .waiting = rendering.placement {
            if entry != known { try entries.save(entry) }
            // A new life also gets the server's values in columns that this app does not know.
            if case .row(let patch) = row.content, patch.generation ?? 1 == entry.remote.generation {
                try noteUnknown(row, entry, wasLost: entry.isRestored, in: table)
            }
            return rendering.placement
        }
        if rendering.change == .delete, try mustWait(row) { return .waiting(.deletionTooSoon) }
        let loss = try known.flatMap { try Journal.Loss(rendering, of: $0, in: table, besides: vacancy) }
        try make(rendering, of: row, in: table)
        if let loss { try Journal(db).record(loss, of: row.ref, at: milliseconds) }
        if row.isMissing, !entry.isAlive, !entry.isPending {
            try entries.forget(row.ref)
        } else if entry != known {
            try entries.save(entry)
        }
        try noteUnknown(row, entry, wasLost: known?.isRestored ?? false, in: table)
        return .shown
    }

    private func mustWait(_ row: ReceivedRow) throws -> Bool {
        guard case .deleted(let tombstone) = row.content, tombstone.mergedInto == nil else { return false }
        return try DeletionTiming(entries: entries, tables: tables, references: references, context: context)
            .isTooSoon(deletionOf: row.ref, at: tombstone.seq)
    }

    /// Applies a row of a table that has no row of this page yet. If it does not fit, it is looked up like any other
    /// when it is tried again.
    private mutating func applyFresh(_ ref: RowRef, _ patch: RowPatch, in table: AppTable) throws {
        do {
            try table.make(.put(patch.values), at: ref.id)
            try entries.addFresh(ref, patch, in: table.layout)
            if !gathersEntries { try entries.writeFresh() }
        } catch {
            fresh.remove(ref.table)
            throw error
        }
    }

    private mutating func make(_ rendering: Rendering, of row: ReceivedRow, in table: AppTable) throws {
        let change = rendering.change
        switch change {
        case .delete:
            var deletion = RowDeletion(
                tables, references, db, at: milliseconds, besides: vacancy, unread: endedUnread)
            try deletion.delete(row.ref, mergedInto: row.mergedInto.flatMap(table.layout.idForm.stored), &entries)
        case .set(let values):
            try table.make(change, at: row.ref.id)
            // A cascade on this device may have deleted the row. The server still has it.
            guard db.changesCount == 0, case .row(let patch) = row.content, patch.seq != nil else { return }
            var whole = patch.values
            whole.replace(with: values)
            try table.make(.put(whole), at: row.ref.id)
        case .none, .put: try table.make(change, at: row.ref.id, keeping: rendering.kept)
        }
    }

    /// Keeps the row's values in columns that this app does not know (L1).
    ///
    /// - Parameter wasLost: Whether the server may have lost the values that were kept before.
    private mutating func noteUnknown(
        _ row: ReceivedRow, _ entry: RowEntry, wasLost: Bool, in table: AppTable
    ) throws {
        let unknown = UnknownColumns(db)
        if case .row(let patch) = row.content, table.lacksColumn(in: patch.values) { isAnythingUnknown = true }
        let found = try isAnythingUnknown ?? !unknown.isEmpty
        isAnythingUnknown = found
        guard found else { return }
        switch row.content {
        case .row(let patch):
            try unknown.note(
                patch, at: row.ref, in: table.layout, present: entry.generation,
                isWhole: row.isWhole && !row.hasWaited && !wasLost)
        case .deleted where !entry.isAlive: try unknown.forget(row.ref)
        // A row that outlives the deletion keeps these values. A later life keeps those that are not of the ended life.
        case .deleted(let tombstone):
            if entry.generation > tombstone.generation {
                try unknown.forget(row.ref, upTo: tombstone.generation)
            }
        }
    }
}
