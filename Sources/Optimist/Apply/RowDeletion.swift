// This source file is part of the Optimist open source project, under the MIT licence.

import GRDB
import OptimistWire

/// Deletes a row that the user has not deleted, and handles the rows that the app's own foreign keys delete or change
/// with it (R2).
///
/// Before SQLite deletes those rows, their unsent values go to the journal. When the server deletes a row, it applies
/// the same rules to its own rows, and reports those deletions one by one. If the server never had the life of the
/// deleted row, it leaves its rows below that life as they are. The device parks those rows until the row above is
/// there again.
struct RowDeletion {
    private let tables: AppTables
    private let references: ReferenceGraph
    private let db: Database
    private let milliseconds: Int64
    /// The rows that are deleted, each with whether the server has deleted it.
    private var going: [RowRef: Bool] = [:]
    /// Rows that the caller handles itself.
    private var spared: Set<RowRef> = []
    /// The unique values that are replaced for a moment.
    private let vacancy: Vacancy?
    /// This device's values that deletions of the page have ended unread, by row.
    private let unread: [RowRef: UnreadClocks]
    /// Whether the rows are deleted because the server refused a row. The user has then not deleted the server's
    /// versions of the rows below it.
    var isTakingBack = false
    /// The rows that the device must receive again for that reason.
    private(set) var unknown: [RowRef] = []

    init(
        _ tables: AppTables, _ references: ReferenceGraph, _ db: Database, at milliseconds: Int64,
        besides vacancy: Vacancy? = nil, unread: [RowRef: UnreadClocks] = [:]
    ) {
        self.tables = tables
        self.references = references
        self.db = db
        self.milliseconds = milliseconds
        self.vacancy = vacancy
        self.unread = unread
    }

    /// Handles the rows below a row, and then deletes the row.
    ///
    /// - Parameter winner: The row into which the server has merged it. Rows that refer to the deleted row now refer to
    ///   the winner.
    /// - Throws: `DatabaseError` of a constraint. The database is then as it was.
    mutating func delete(
        _ ref: RowRef, mergedInto winner: DatabaseValue? = nil, _ entries: inout RowEntryTable
    ) throws {
        guard let table = tables[ref.table] else { return }
        // No table refers to this one, so there is nothing to undo.
        if references.referrers(to: table.layout.name).isEmpty { return try table.make(.delete, at: ref.id) }
        var changed = entries
        try db.inSavepoint {
            if let winner { try Mergers(tables, references, db).repoint(from: ref, to: winner) }
            try prepare(deletionOf: ref, &changed)
            try table.make(.delete, at: ref.id)
            return .commit
        }
        entries = changed
    }

    /// Handles the rows that SQLite is about to delete or change with a row.
    ///
    /// - Parameters:
    ///   - isServers: Whether the server has deleted the row. If not, the device gives up a life that only this device
    ///     has.
    ///   - others: Rows that the caller handles itself.
    mutating func prepare(
        deletionOf ref: RowRef, isServers: Bool = true, sparing others: Set<RowRef> = [],
        _ entries: inout RowEntryTable
    ) throws {
        spared.formUnion(others)
        going[ref] = isServers
        try prepareRowsBelow(ref, &entries)
    }

    private mutating func prepareRowsBelow(_ ref: RowRef, _ entries: inout RowEntryTable) throws {
        for child in try tables.children(of: ref, references) { try prepare(child, below: ref, &entries) }
    }

    private mutating func prepare(_ child: Child, below parent: RowRef, _ entries: inout RowEntryTable) throws {
        guard going[child.ref] == nil, var entry = try entries.entry(child.ref) else { return }
        if spared.contains(child.ref) {
            // The caller handles this row. But SQLite now also deletes the rows below it.
            guard child.referrer.onDelete == .cascade else { return }
            going[child.ref] = going[parent]
            return try prepareRowsBelow(child.ref, &entries)
        }
        let below = RowBelow(entry, by: child.referrer)
        switch below.fate {
        case .stays: return
        case .refersToNothing: try empty(below, &entry, of: child, below: parent)
        case .ends: return try end(entry, movedBy: child, &entries)
        case .returns:
            let owner = tables.owner(by: below.column, entry.baseValue(of: below.column))
            try takeBack(below.column, of: &entry, in: child.table)
            // The owner that the row has on the server may be deleted too. The row is then deleted with it.
            if let owner, going[owner] != nil { try go(&entry, child, with: owner, &entries) }
        case .goes: try go(&entry, child, with: parent, &entries)
        }
        try entries.save(entry)
    }

    /// Handles a row whose reference SQLite is about to empty.
    private func empty(
        _ below: RowBelow, _ entry: inout RowEntry, of child: Child, below parent: RowRef
    ) throws {
        if below.isMoved { try journal(child.ref, child.table, in: below.column.mask) }
        if entry.sent & entry.dirty & below.column.mask != 0 { try db.witness(entry.restamp(below.column)) }
        if !below.isMoved { try park(&entry, unlessServersDeletionOf: parent, in: child.table) }
    }

    /// Handles a row that SQLite is about to delete with another one.
    private mutating func go(
        _ entry: inout RowEntry, _ child: Child, with parent: RowRef, _ entries: inout RowEntryTable
    ) throws {
        let isServers = try going[parent] == true && entry.wasOnServer && !isThereAgain(entry)
        try prepare(deletionOf: child.ref, isServers: isServers, &entries)
        let layout = child.table.layout
        let lost = try entry.dirty | entry.replaced(endedUnread(child.ref), in: layout)
        let rendering = Rendering(change: .delete, lost: lost, endsLife: true)
        if let loss = try Journal.Loss(rendering, of: entry, in: child.table, besides: vacancy) {
            try Journal(db).record(loss, of: child.ref, at: milliseconds)
        }
        try park(&entry, unlessServersDeletionOf: parent, in: child.table)
        giveUp(&entry, in: child.table)
    }

    /// This device's values that the row's own deletion has ended unread. That deletion comes with the page, or is parked.
    private func endedUnread(_ ref: RowRef) throws -> UnreadClocks {
        if let told = unread[ref] { return told }
        guard case .deleted(let tombstone)? = try ParkedRows(db).content(ref), !tombstone.unread.isEmpty else {
            return UnreadClocks()
        }
        return tombstone.unread.of(devices: try DeviceIdentity.all(in: db))
    }

    /// Deletes a row that has outlived its own deletion only because the user moved it below the deleted row.
    private mutating func end(_ before: RowEntry, movedBy child: Child, _ entries: inout RowEntryTable) throws {
        try journal(child.ref, child.table, in: child.referrer.column.mask)
        try prepare(deletionOf: child.ref, isServers: !isThereAgain(before), &entries)
        try child.table.make(.delete, at: child.ref.id)
        try UnknownColumns(db).forget(child.ref)
        var entry = before
        entry.end(entry.remote.generation, clock: nil)
        try entries.save(entry)
    }

    /// Whether the server still has the row, elsewhere or in a later life, and that version is parked. References to
    /// the row are then to that version.
    private func isThereAgain(_ entry: RowEntry) throws -> Bool {
        guard case .row(let patch)? = try ParkedRows(db).content(entry.ref) else { return false }
        return patch.generation ?? 1 >= entry.generation
    }

    /// Gives up a row that is deleted with another one. On the server the row may be alive, below another life of its
    /// parent. That life is unsent here, or comes with a later page. So everything that a page brings of the row is
    /// new. If the server has lost the row, and the row is deleted with a refused one, another device may have sent it
    /// again.
    private mutating func giveUp(_ entry: inout RowEntry, in table: AppTable) {
        if entry.isPending, !entry.isKnownToServer {
            if !isTakingBack { return entry.loseUnsentLife() }
            let wasRestored = entry.isRestored
            entry.giveUpUnsentLife()
            if entry.isAlive || wasRestored { unknown.append(entry.ref) }
            return
        }
        if entry.hasOutlivedItsEnd {
            return entry.end(entry.remote.generation, clock: nil)
        }
        entry.becomeClean()
        if entry.isAlive { entry.remote.withdraw() }
    }

    /// Parks the server's version of a row until the parent that it refers to is there again, unless the server has
    /// deleted the parent. The server has no version of a row that it has lost or deleted too.
    private func park(
        _ entry: inout RowEntry, unlessServersDeletionOf parent: RowRef, in table: AppTable
    ) throws {
        guard going[parent] == false, entry.isAlive, entry.isKnownToServer, !entry.isRestored, !entry.hasOutlivedItsEnd,
            let values = try table.values(entry.ref.id), try !ParkedRows(db).contains(entry.ref)
        else { return }
        let whole = vacancy?.filled(values, of: entry.ref.id, in: table) ?? values
        let served = entry.served(whole, in: table.layout)
        let row = ReceivedRow(
            ref: entry.ref, content: .row(entry.withdraw(served, isWhole: true, in: table.layout)))
        try ParkedRows(db).park(row, reason: .constraint, awaiting: parent)
    }

    private func takeBack(_ column: TableLayout.Column, of entry: inout RowEntry, in table: AppTable) throws {
        try journal(entry.ref, table, in: column.mask)
        try table.make(entry.takeBack(column.mask, in: table.layout).change, at: entry.ref.id)
    }

    private func journal(_ ref: RowRef, _ table: AppTable, in mask: Int64) throws {
        guard let mine = try table.values(ref.id, in: mask) else { return }
        try Journal(db).record(ref, reason: .deleted, mine: mine, at: milliseconds)
    }
}
