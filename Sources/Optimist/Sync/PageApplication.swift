// This source file is part of the Optimist open source project, under the MIT licence.

import GRDB
import OptimistWire

/// Applies received rows to the app's tables, within one transaction.
///
/// Rows are put before others are deleted, so that a child that has moved is not taken along with its former parent. A
/// child may move with a later page too: until the last one, a deletion that would take such rows along waits.
/// Foreign keys are checked when all rows are there: a page may bring a child before its parent, and rows that refer to
/// each other. If they do not hold then, the rows are taken once more one by one. What does not fit is parked (R4).
/// A few rows are tried without all that first: they mostly fit, and are then applied sooner.
struct PageApplication {
    private let layouts: [TableLayout]
    private let db: Database
    private let milliseconds: Int64
    private let hasMore: Bool
    private let lagging: Set<Int64>
    private let head: Int64?

    /// - Parameters:
    ///   - hasMore: Whether later pages bring what the server has changed by now too.
    ///   - lagging: The tables of which they do, if not of all.
    ///   - head: The server's last transaction when the page was made. Nil: unknown.
    init(
        _ layouts: [TableLayout], _ db: Database, at milliseconds: Int64, hasMore: Bool = false,
        lagging: Set<Int64> = [], asOf head: Int64? = nil
    ) {
        self.layouts = layouts
        self.db = db
        self.milliseconds = milliseconds
        self.hasMore = hasMore
        self.lagging = lagging
        self.head = head
    }

    func apply(_ rows: [PageRow]) throws {
        var oneByOne = try anew()
        try oneByOne.lookAhead(rows)
        try apply(oneByOne.inOrder(rows), by: oneByOne)
    }

    /// Applies rows of a page without deletions, a few at a time, until somebody waits for the end of the transaction. If one
    /// does not fit as it comes, all the rest is applied together.
    ///
    /// A row that does not fit leaves nothing behind, so that nothing has to be undone: savepoints took two fifths of a
    /// first sync, since SQLite copies each page that is changed within one to a file. Only where foreign keys are checked
    /// at the commit can a row be found out too late.
    ///
    /// - Returns: How many were applied.
    func apply(_ rows: [PageRow], until isAwaited: () -> Bool) throws -> Int {
        var oneByOne = try anew()
        try oneByOne.lookAhead(rows)
        let fits = try db.hasDeferredForeignKeys ? fitsAsItComes : fitsOneByOne
        var count = 0
        while count < rows.count {
            let some = rows[count...].prefix(FreshEntries.together)
            guard try fits(oneByOne.inOrder(some), &oneByOne) else {
                try apply(Array(rows[count...]))
                return rows.count
            }
            count += some.count
            if isAwaited() { break }
        }
        return count
    }

    /// Applies rows in the order in which they are given.
    func apply(_ rows: [ReceivedRow]) throws {
        try apply(rows, by: anew())
    }

    private func apply(_ rows: [ReceivedRow], by oneByOne: RowApplication) throws {
        try forgetParked(rows)
        try UnseenSettling.keepEdited(layouts, db)
        if rows.count <= Self.few {
            var oneByOne = oneByOne
            if try fitsAsItComes(rows, by: &oneByOne) { return }
            if try fitsAtOnce(rows, by: anew()) { return }
        } else if try fitsAtOnce(rows, by: oneByOne) {
            return
        }
        var fitting = Fitting(try anew(), db)
        try fitting.fit(rows)
    }

    /// What was noted of devices in a first attempt was undone with it.
    private func anew() throws -> RowApplication {
        try RowApplication(layouts, db, at: milliseconds, hasMore: hasMore, lagging: lagging, asOf: head)
    }

    /// So many rows are tried as they come first. A device that is up to date receives no more at a time.
    private static let few = 50

    private func fitsAsItComes(_ rows: [ReceivedRow], by oneByOne: inout RowApplication) throws -> Bool {
        guard try ParkedRows(db).isEmpty else { return false }
        var attempt = oneByOne
        guard try db.keepingWhatFitsAsItComes({ for row in rows { try attempt.apply(row) } }) else { return false }
        oneByOne = attempt
        return true
    }

    /// - Returns: Whether all were applied. If not, those before the first that does not fit were.
    private func fitsOneByOne(_ rows: [ReceivedRow], by oneByOne: inout RowApplication) throws -> Bool {
        guard try ParkedRows(db).isEmpty else { return false }
        do {
            try oneByOne.apply(rows)
            return true
        } catch let error as DatabaseError where error.isConstraint {
            return false
        }
    }

    private func fitsAtOnce(_ rows: [ReceivedRow], by oneByOne: RowApplication) throws -> Bool {
        var oneByOne = oneByOne
        var misfits: [ReceivedRow] = []
        func leave(_ row: ReceivedRow) {
            misfits.append(row)
            if row.isAlive { oneByOne.waiting.insert(row.ref) }
        }
        func apply(_ some: [ReceivedRow]) throws {
            for row in some {
                do { try oneByOne.apply(row) } catch let error as DatabaseError where error.isConstraint { leave(row) }
            }
        }
        let fits = try db.keepingWhatFits {
            var put = rows.filter(\.isAlive)
            let deleted = rows.filter { !$0.isAlive }
            repeat {
                try apply(put)
                // What has moved to where it waited for is not deleted with the place where it was.
                put = []
                for row in deleted.isEmpty ? [] : try ready(oneByOne.tables) {
                    let lacksAnother = try Fitting(oneByOne, db).missingParent(of: row, among: []) != nil
                    if lacksAnother { leave(row) } else { put.append(row) }
                }
            } while !put.isEmpty
            try apply(deleted)
        }
        guard fits else { return false }
        oneByOne.waiting = []
        var fitting = Fitting(oneByOne, db)
        try db.deferringForeignKeys { try fitting.fit(misfits) }
        return true
    }

    /// Takes out the parked rows whose parents are here by now.
    private func ready(_ tables: AppTables) throws -> [ReceivedRow] {
        let parked = ParkedRows(db)
        return try parked.isEmpty ? [] : parked.takeReady(tables, includingOthers: false, hasMore: hasMore)
    }

    /// A later version of a parked row takes its place.
    private func forgetParked(_ rows: [ReceivedRow]) throws {
        let parked = ParkedRows(db)
        if try parked.isEmpty { return }
        for row in rows { try parked.forget(row.ref) }
    }

    /// Tries the parked rows again, after something has gone that may have stood in their way. What is edited of them was kept
    /// before that, in the same transaction.
    func retryParked() throws {
        if try ParkedRows(db).isEmpty { return }
        var fitting = Fitting(try anew(), db)
        try fitting.fit([])
    }
}

extension PageRow.Content {
    var isAlive: Bool { if case .row = self { true } else { false } }
}

/// A row as the server has it, with its name in this database.
struct ReceivedRow: Sendable {
    let ref: RowRef
    let content: PageRow.Content
    /// Whether it was parked: an answer or a cascade parks what this app knows of a row.
    var hasWaited = false

    var isAlive: Bool { content.isAlive }

    /// Whether nobody has told that the row was deleted, but a resync did not bring it. It may be there again, in its first
    /// life and as of any transaction: so nothing is known of it once it has gone.
    var isMissing: Bool {
        if case .deleted(let tombstone) = content { tombstone.seq == nil && tombstone.clock == nil } else { false }
    }

    /// Whether it tells all of the row. An answer, or what was kept for a column that a migration brought, tells a part.
    var isWhole: Bool { if case .row(let patch) = content { patch.seq != nil } else { true } }

    /// The wire id of the row that this one has become one with.
    var mergedInto: String? {
        if case .deleted(let tombstone) = content { tombstone.mergedInto } else { nil }
    }
}

/// Decides and applies one received row after another.
struct RowApplication {
    var entries: RowEntryTable
    let tables: AppTables
    let references: ReferenceGraph
    let db: Database
    let hasMore: Bool
    private let lagging: Set<Int64>
    private let head: Int64?
    private let milliseconds: Int64
    private let device: String
    /// Tables of whose rows in this page nothing is here: they need not be looked up.
    private var fresh: Set<Int64> = []
    /// Whether the entries of such rows are written together with those of the next.
    private var gathersEntries = false
    private var isAnythingUnknown: Bool?
    /// Rows that do not fit so far.
    var waiting: Set<RowRef> = []
    /// What is emptied for a moment, of which the journal is to have the values as they are.
    var vacancy: Vacancy?
    /// The rows that cascades of this page have parked.
    private var parkedBefore: Set<RowRef> = []

    init(
        _ layouts: [TableLayout], _ db: Database, at milliseconds: Int64, hasMore: Bool = false,
        lagging: Set<Int64> = [], asOf head: Int64? = nil
    ) throws {
        entries = try RowEntryTable(db)
        tables = AppTables(layouts, db)
        references = ReferenceGraph(layouts)
        self.db = db
        self.milliseconds = milliseconds
        self.hasMore = hasMore
        self.lagging = lagging
        self.head = head
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

    /// Finds out whether anything is here of what a page brings, table by table. Of a first sync nothing is, and looking up
    /// each row would take a third of the time. A row that comes twice is looked up.
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
                    patch, asOf: row.hasWaited ? nil : head, device: device, in: table.layout, quote: table.quote)
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
        return try cascade.isTooSoon(deletionOf: row.ref, at: tombstone.seq, hasMore: hasMore, lagging: lagging)
    }

    private var cascade: ReceivedCascade {
        ReceivedCascade(entries, tables, references, db, at: milliseconds, waiting: waiting, besides: vacancy)
    }

    /// What does not fit is looked up like any other row when it is tried again.
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
