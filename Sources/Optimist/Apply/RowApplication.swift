// This source file is part of the Optimist open source project, under the MIT licence.

import GRDB
@_spi(Internals) import OptimistWire

/// Decides about received rows, one by one, and passes them through the ``Door``.
struct RowApplication: RowWork {
    var door: Door
    let context: PageContext
    private let device: String
    /// The tables without any row of this page, so that lookups are unnecessary.
    private var fresh: Set<Int64> = []
    /// The scopes of the parents that were looked up.
    private var parentScopes: [RowRef: Int64] = [:]
    /// Whether entries in fresh tables are collected and written together.
    private var gathersEntries = false

    init(_ layouts: [TableLayout], _ db: Database, at milliseconds: Int64, _ context: PageContext) throws {
        door = try Door(layouts, db, at: milliseconds)
        self.context = context
        device = try DeviceIdentity.current(in: db)
    }

    /// Sorts the page's rows of known tables: living rows in page order, then merged rows, then deleted rows.
    ///
    /// Merged and deleted rows are sorted children first. Within a table, the server lists a row before the rows
    /// deleted with it, so the order is reversed. This spares SQLite its cascades, which are slow for many levels.
    func inOrder(_ rows: some Collection<RemotePage.Row>) -> [ReceivedRow] {
        var put: [ReceivedRow] = []
        var merged: [ReceivedRow] = []
        var deleted: [ReceivedRow] = []
        put.reserveCapacity(rows.count)
        for row in rows {
            guard let table = door.tables[row.table], let id = table.layout.idForm.stored(row.id) else { continue }
            let received = ReceivedRow(
                ref: RowRef(table: table.layout.number, id: id), scope: context.scope, content: row.content)
            switch row.content {
            case .row: put.append(received)
            case .deleted(let tombstone) where tombstone.mergedInto != nil: merged.append(received)
            case .deleted: deleted.append(received)
            }
        }
        if merged.isEmpty, deleted.isEmpty { return put }
        return put + [merged, deleted.reversed()].flatMap { $0.sorted { rank($0) > rank($1) } }
    }

    func rank(_ row: ReceivedRow) -> Int { door.references.ranks[row.ref.table] ?? 0 }

    /// Finds the tables without any row of a page. In a first sync these are all tables, and lookups would take a third
    /// of the time. A table with a repeated row is not fresh.
    mutating func lookAhead(_ rows: [RemotePage.Row]) throws {
        // A row that waits in another scope holds its place.
        if context.scope != Scope.personal, try !ParkedRows(door.db).isEmpty { return }
        var spans: [Span] = []
        for row in rows {
            if let index = spans.indices.first(where: { spans[$0].table == row.table }) {
                spans[index].extend(to: row.id)
            } else {
                spans.append(Span(table: row.table, first: row.id, last: row.id))
            }
        }
        for span in spans {
            guard let table = door.tables[span.table], let first = table.layout.idForm.stored(span.first),
                let last = table.layout.idForm.stored(span.last), table.layout.rules.counters.isEmpty,
                try door.entries.isEmpty(table.layout.number, from: first, to: last),
                try table.isEmpty(from: first, to: last), span.isInOrder || !comesTwice(anyOf: span.table, in: rows)
            else { continue }
            fresh.insert(table.layout.number)
        }
    }

    /// The range of a page's ids in a table.
    private struct Span {
        let table: String
        var first: String
        var last: String
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

    /// Applies rows, and parks any that must wait. Call this only while no other row is parked.
    ///
    /// - Throws: `DatabaseError` of a constraint. All rows before the misfit are then applied.
    mutating func apply(_ rows: [ReceivedRow]) throws {
        gathersEntries = true
        defer { gathersEntries = false }
        do {
            for row in rows {
                switch try apply(row) {
                case .waiting(let reason): try ParkedRows(door.db).park(row, reason: reason, awaiting: nil)
                // The deletion of another row may have parked an older version.
                case .shown: if !row.isAlive { try ParkedRows(door.db).remove(row.ref, in: row.scope) }
                }
            }
        } catch let error as DatabaseError where error.isConstraint {
            try door.entries.writeFresh()
            throw error
        }
        try door.entries.writeFresh()
    }

    /// - Returns: Whether the row must wait although it breaks no constraint.
    /// - Throws: `DatabaseError` of a constraint. The row is then unchanged.
    mutating func apply(_ row: ReceivedRow) throws -> Placement {
        guard let table = door.tables[row.ref.table] else { return .shown }
        if row.scope != Scope.personal, try isBelowOther(row, in: table) { return .waiting(.foreignKey) }
        if case .row(let patch) = row.content, fresh.contains(row.ref.table), !row.hasWaited,
            !table.lacksColumn(in: patch.values)
        {
            try applyFresh(row, patch, in: table)
            return .shown
        }
        try door.entries.writeFresh()
        var before = try door.entries.entry(row.ref) ?? RowEntry(ref: row.ref)
        if before.remote.scope != row.scope, let placement = try meet(row, elsewhere: &before, in: table.layout) {
            return placement
        }
        if let destination = try destination(of: row, from: before) {
            return try follow(destination, before, in: table)
        }
        var entry = before
        entry.remote.hear(in: row.scope)
        let rendering =
            switch row.content.tellingUnread(of: door.ownDevices) {
            case .row(let patch):
                entry.receive(patch, asOf: row.hasWaited ? nil : context.head, device: device, in: table.layout)
            case .deleted(let tombstone): entry.receive(tombstone, device: device, in: table.layout)
            }
        if rendering.change == .delete, try mustWait(row) { return .waiting(.deletionTooSoon) }
        var passage = Passage(before: before, entry: entry, rendering: rendering)
        // A waiting row's values of unknown columns are kept only if its life is the latest known life.
        if rendering.placement == .shown || row.content.version.life == entry.remote.generation {
            passage.told = row.content
            passage.isWhole = row.isWhole && !row.hasWaited
        }
        if let winner = row.mergedInto.flatMap(table.layout.idForm.stored) {
            passage.deletion = .merged(into: winner)
        }
        try door.pass(passage)
        return rendering.placement
    }

    /// Whether the row with the id of this row's parent is in another scope, so that it is another row.
    private mutating func isBelowOther(_ row: ReceivedRow, in table: AppTable) throws -> Bool {
        guard case .row(let patch) = row.content,
            let parent = door.tables.parent(by: patch.values, in: table.layout)
        else { return false }
        if let scope = parentScopes[parent] { return scope != row.scope }
        try door.entries.writeFresh()
        guard let known = try door.entries.entry(parent)?.remote, known.generation > 0 else { return false }
        parentScopes[parent] = known.scope
        return known.scope != row.scope
    }

    /// Takes a row whose id may be in use in another scope.
    ///
    /// - Parameter entry: Becomes empty if the row there has ended, because this row does not continue it. If the
    ///   received row is an earlier stay of its row, it moves back to that scope.
    /// - Returns: Nil to receive the row.
    private mutating func meet(
        _ row: ReceivedRow, elsewhere entry: inout RowEntry, in layout: TableLayout
    ) throws -> Placement? {
        var place = RowPlace(of: entry)
        guard place.space != nil else {
            // Two ends would wait for each other.
            let isClaim = try row.content.isAlive && ParkedRows(door.db).holds(row.ref, outside: row.scope)
            return isClaim ? .waiting(.claim) : nil
        }
        let told = RowPlace.Version(row.content)
        if row.hasMoved, entry.remote.confirmDeparture(from: row.scope, in: told.seq) { try door.entries.save(entry) }
        if place.isEarlierStay(told, in: Int(row.scope)) {
            guard try maySendAgain(row, entry) else { return .shown }
            entry.goBack(to: row.scope, life: told.generation, in: layout)
            parentScopes[row.ref] = nil
            return nil
        }
        switch place.receive(told, from: Int(row.scope)).step {
        case .park: return .waiting(.claim)
        case .receive:
            entry = RowEntry(ref: row.ref)
            return nil
        default: return .shown
        }
    }

    /// Whether a received row is an earlier stay of this very row, and this person may send the move again.
    ///
    /// Another member may have made a row with this id in a space (P2). So a restored server must have lost that the row
    /// left that space, and both rows must have a value of one write. Only this person's devices write to the own account.
    private func maySendAgain(_ row: ReceivedRow, _ entry: RowEntry) throws -> Bool {
        guard entry.isAlive, !row.hasWaited, case .row(let patch) = row.content, let clocks = patch.clocks,
            patch.values.contains(where: { name, _ in
                clocks[name].map { $0 == entry.remote.clocks[name] } ?? false
            })
        else { return false }
        let scopes = try [row.scope, entry.remote.scope].map { try Scope.fetch($0, in: door.db) }
        let isLost =
            row.scope == Scope.personal
            ? scopes[0].mayHaveBeenRestored : entry.remote.departure == .init(from: row.scope, seq: nil)
        return try isLost && scopes.allSatisfy { $0.mayWrite(as: try $0.role(in: door.db)) }
    }

    /// Whether the row leaves its scope for another one of this person. Only its entry changes then.
    func goesOn(_ row: ReceivedRow) throws -> Bool {
        guard row.hasMoved, let entry = try door.entries.entry(row.ref) else { return false }
        return try destination(of: row, from: entry) != nil
    }

    /// Where a row goes on that leaves its scope. Nil if it does not leave, or leaves for an account that the person does
    /// not use.
    private func destination(of row: ReceivedRow, from entry: RowEntry) throws -> MoveDestination? {
        guard case .deleted(let tombstone) = row.content, let told = tombstone.movedTo,
            entry.remote.scope == row.scope,
            let destination = try MoveDestination(told, at: row.content.version.seq, in: door.db),
            entry.generation != 0, entry.goesOn(to: destination)
        else { return nil }
        return destination
    }

    private mutating func follow(_ destination: MoveDestination, _ before: RowEntry, in table: AppTable) throws
        -> Placement
    {
        var entry = before
        let rendering = entry.rebase(
            to: destination, anchor: table.layout.anchor, device: device, in: table.layout)
        try door.pass(Passage(before: before, entry: entry, rendering: rendering))
        return .shown
    }

    private func mustWait(_ row: ReceivedRow) throws -> Bool {
        guard case .deleted(let tombstone) = row.content, tombstone.mergedInto == nil else { return false }
        return try DeletionTiming(door: door, context: context).isTooSoon(deletionOf: row.ref, at: tombstone.seq)
    }

    /// If the row does not fit, a retry looks it up like any other.
    private mutating func applyFresh(_ row: ReceivedRow, _ patch: RowPatch, in table: AppTable) throws {
        do {
            try table.put(patch.values, at: row.ref.id)
            try door.entries.addFresh(row.ref, patch, in: table.layout, row.scope)
            if !gathersEntries { try door.entries.writeFresh() }
        } catch {
            fresh.remove(row.ref.table)
            throw error
        }
    }
}
