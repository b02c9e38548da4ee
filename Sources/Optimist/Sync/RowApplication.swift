// This source file is part of the Optimist open source project, under the MIT licence.

import GRDB
import OptimistWire

/// Decides and applies one received row after another.
struct RowApplication {
    var entries: RowEntryTable
    let tables: AppTables
    let references: ReferenceGraph
    let db: Database
    let horizon: Horizon
    private let milliseconds: Int64
    private let device: String
    /// Tables that have no row of this page yet: its rows need not be looked up.
    private var fresh: Set<Int64> = []
    /// Whether the entries of such rows are written together with those of the next.
    private var gathersEntries = false
    private var isAnythingUnknown: Bool?
    /// Rows that do not fit so far.
    var waiting: Set<RowRef> = []
    /// The values that are emptied for a moment; the journal must have them as they were.
    var vacancy: Vacancy?
    /// The rows that cascades of this page have parked.
    private var parkedBefore: Set<RowRef> = []

    init(_ layouts: [TableLayout], _ db: Database, at milliseconds: Int64, _ horizon: Horizon) throws {
        entries = try RowEntryTable(db)
        tables = AppTables(layouts, db)
        references = ReferenceGraph(layouts)
        self.db = db
        self.milliseconds = milliseconds
        self.horizon = horizon
        device = try DeviceIdentity.current(in: db)
    }

    /// The rows whose tables are known here: parents before children, then what has become one with another row, and what is
    /// deleted at the end, the other way round. Within a table the server names a row before what was deleted with it: from
    /// the end, SQLite has no cascade to follow, which is slow for many levels.
    func inOrder(_ rows: some Collection<PageRow>) -> [ReceivedRow] {
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
    /// would take a third of the time. A row that comes twice is looked up.
    mutating func lookAhead(_ rows: [PageRow]) throws {
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

    /// From the least to the greatest id that a page has of a table.
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

    private func comesTwice(anyOf table: String, in rows: [PageRow]) -> Bool {
        var ids: Set<String> = []
        return rows.contains { $0.table == table && !ids.insert($0.id).inserted }
    }

    /// - Throws: `DatabaseError` of a constraint, and then all before the row that does not fit were applied.
    mutating func apply(_ rows: [ReceivedRow]) throws {
        gathersEntries = true
        defer { gathersEntries = false }
        do {
            for row in rows { try apply(row) }
        } catch let error as DatabaseError where error.isConstraint {
            try entries.writeFresh()
            throw error
        }
        try entries.writeFresh()
    }

    /// - Throws: `DatabaseError` of a constraint, and then the row is as it was.
    mutating func apply(_ row: ReceivedRow) throws {
        guard let table = tables[row.ref.table] else { return }
        if case .row(let patch) = row.content, fresh.contains(row.ref.table),
            !table.lacksColumn(in: patch.values)
        {
            return try applyFresh(row.ref, patch, in: table)
        }
        try entries.writeFresh()
        // What a cascade has parked on behalf of a row before is older.
        if parkedBefore.remove(row.ref) != nil { try ParkedRows(db).remove(row.ref) }
        let known = try entries.entry(row.ref)
        var entry = known ?? RowEntry(ref: row.ref, generation: 0)
        let reception =
            switch row.content {
            case .row(let patch):
                try entry.receive(
                    patch, asOf: row.hasWaited ? nil : horizon.head, device: device, in: table.layout,
                    quote: table.quote)
            case .deleted(let tombstone): entry.receive(tombstone, device: device, in: table.layout)
            }
        if reception.isAboveIt {
            if entry != known { try entries.save(entry) }
            try ParkedRows(db).park(row, reason: ParkedRows.belowUnsent, awaiting: nil)
            // A new life takes along what the server has in columns that this app does not know.
            guard case .row(let patch) = row.content, patch.generation ?? 1 == entry.acked else { return }
            return try noteUnknown(row, entry, wasHealing: entry.isHealing, in: table)
        }
        if reception.change == .delete, try mustWait(row) {
            return try ParkedRows(db).park(row, reason: ParkedRows.heldBack, awaiting: nil)
        }
        let loss = try known.flatMap {
            try Journal.Loss(reception.lost, of: $0, by: reception.change, in: table, besides: vacancy)
        }
        try make(reception, of: row, in: table)
        if let loss { try Journal(db).record(loss, of: row.ref, at: milliseconds) }
        if row.isMissing, !entry.isAlive, !entry.isPending {
            try entries.forget(row.ref)
        } else if entry != known {
            try entries.save(entry)
        }
        try noteUnknown(row, entry, wasHealing: known?.isHealing ?? false, in: table)
    }

    private func mustWait(_ row: ReceivedRow) throws -> Bool {
        guard case .deleted(let tombstone) = row.content, tombstone.mergedInto == nil else { return false }
        return try cascade.isTooSoon(deletionOf: row.ref, at: tombstone.seq, horizon)
    }

    private var cascade: ReceivedCascade {
        ReceivedCascade(entries, tables, references, db, at: milliseconds, waiting: waiting, besides: vacancy)
    }

    /// A row that does not fit is looked up like any other when it is tried again.
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

    private mutating func make(_ reception: Reception, of row: ReceivedRow, in table: AppTable) throws {
        let change = reception.change
        switch change {
        case .delete:
            var cascade = cascade
            try cascade.delete(row.ref, mergedInto: row.mergedInto.flatMap(table.layout.idForm.stored))
            entries = cascade.entries
            parkedBefore.formUnion(cascade.parked)
        case .set(let values):
            try table.make(change, at: row.ref.id)
            // A cascade of this device's own may have taken the row: the server has it still.
            guard db.changesCount == 0, case .row(let patch) = row.content, patch.seq != nil else { return }
            var whole = patch.values
            whole.replace(with: values)
            try table.make(.put(whole), at: row.ref.id)
        case .none, .put: try table.make(change, at: row.ref.id, keeping: reception.kept)
        }
    }

    /// Keeps what the row has in columns that this app does not know (L1).
    ///
    /// - Parameter wasHealing: Whether the server may have lost what was kept.
    private mutating func noteUnknown(
        _ row: ReceivedRow, _ entry: RowEntry, wasHealing: Bool, in table: AppTable
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
                isWhole: row.isWhole && !row.hasWaited && !wasHealing)
        case .deleted where !entry.isAlive: try unknown.forget(row.ref)
        // A row that outlives the deletion keeps what it has; a later life, what is not of the one that has ended.
        case .deleted(let tombstone):
            if entry.generation > tombstone.generation {
                try unknown.forget(row.ref, upTo: tombstone.generation)
            }
        }
    }
}
